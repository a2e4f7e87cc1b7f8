// Weights in the SPRAM of an iCE40 UltraPlus, 16384 words of up to 64 bits. It has no initial contents: weights must be
// loaded before the first step, as into weights_ram.v.
`default_nettype none
module unroll_weights #(parameter W = 64, D = 256, A = 8, FILE = "") (
  input wire clk, input wire [A-1:0] a, output wire [W-1:0] q,
  input wire load, input wire w_valid, input wire [15:0] w_data);
  localparam PARTS = (W + 15) / 16;
  reg [A-1:0] at;
  reg [1:0] part;
  wire [13:0] address = load ? at : a;
  wire [16*PARTS-1:0] out;
  assign q = out[W-1:0];
  genvar i;
  generate for (i = 0; i < PARTS; i = i + 1) begin : ram
    SB_SPRAM256KA s(.ADDRESS(address), .DATAIN(w_data), .MASKWREN(4'b1111), .WREN(load && w_valid && part == i),
      .CHIPSELECT(1'b1), .CLOCK(clk), .STANDBY(1'b0), .SLEEP(1'b0), .POWEROFF(1'b1), .DATAOUT(out[16*i +: 16]));
  end endgenerate
  always @(posedge clk)
    if (!load) begin
      at <= 0;
      part <= 0;
    end else if (w_valid) begin
      part <= part == PARTS - 1 ? 2'd0 : part + 1'b1;
      if (part == PARTS - 1) at <= at + 1'b1;
    end
endmodule
`default_nettype wire
