// Weights in block RAM: initially those of the file; others can be loaded. While `load` is high, each word of w_data
// has the next 16 bits, low bits first, starting at the first word of the file.
`default_nettype none
module unroll_weights #(parameter W = 32, D = 256, A = 8, FILE = "") (
  input wire clk, input wire [A-1:0] a, output reg [W-1:0] q,
  input wire load, input wire w_valid, input wire [15:0] w_data);
  localparam PARTS = (W + 15) / 16;
  reg [W-1:0] word [0:D-1];
  initial if (FILE != "") $readmemh(FILE, word);
  reg [A-1:0] at;
  reg [7:0] part;
  reg [16*PARTS-1:0] gathered;
  reg we;
  wire [16*PARTS+15:0] shifted = {w_data, gathered};
  always @(posedge clk) begin
    q <= word[a];
    we <= 0;
    if (we) begin
      word[at] <= gathered[W-1:0];
      at <= at + 1'b1;
    end
    if (load && w_valid) begin
      gathered <= shifted[16*PARTS+15:16];
      part <= part == PARTS - 1 ? 8'd0 : part + 1'b1;
      we <= part == PARTS - 1;
    end
    if (!load && !we) begin
      at <= 0;
      part <= 0;
    end
  end
endmodule
`default_nettype wire
