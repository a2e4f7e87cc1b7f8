// Memories and the multiplier of the core, which tools map to block RAM and DSPs. Reads return the contents before the
// clock; nothing is reset. Weights are in unroll_weights.v, with one version for each kind of memory.
`default_nettype none

// D words of W bits from a file of hexadecimal values. Small tables are built from logic: they would waste a block.
module unroll_rom #(parameter W = 16, D = 256, A = 8, FILE = "") (
  input wire clk, input wire [A-1:0] a, output reg [W-1:0] q);
  generate if (D <= 32) begin : logic_
    (* rom_style = "logic", ram_style = "logic" *) reg [W-1:0] word [0:D-1];
    initial $readmemh(FILE, word);
    always @(posedge clk) q <= word[a];
  end else begin : block
    reg [W-1:0] word [0:D-1];
    initial $readmemh(FILE, word);
    always @(posedge clk) q <= word[a];
  end endgenerate
endmodule

module unroll_ram #(parameter W = 16, A = 8) (
  input wire clk, input wire [A-1:0] ra, output reg [W-1:0] q,
  input wire we, input wire [A-1:0] wa, input wire [W-1:0] d);
  reg [W-1:0] word [0:(1<<A)-1];
  always @(posedge clk) begin
    q <= word[ra];
    if (we) word[wa] <= d;
  end
endmodule

// p = a b of the operands three clocks before; a is signed, b is not. Parts of 16 bits are multiplied in one clock and
// added in the next, so that a part fits one DSP of any family with its own registers.
module unroll_multiply #(parameter A = 24, B = 15) (
  input wire clk, input wire signed [A-1:0] a, input wire [B-1:0] b, output reg signed [A+B-1:0] p);
  localparam NA = (A + 15) / 16, NB = (B + 15) / 16;
  reg signed [A-1:0] ra;
  reg [B-1:0] rb;
  wire signed [A+B-1:0] part [0:NA*NB-1];
  genvar i, k;
  generate for (i = 0; i < NA; i = i + 1) begin : of_a
    for (k = 0; k < NB; k = k + 1) begin : of_b
      localparam WA = i == NA - 1 ? A - 16 * i : 16, WB = k == NB - 1 ? B - 16 * k : 16;
      if (i == NA - 1) begin : top
        reg signed [WA+WB:0] m;
        wire signed [WA-1:0] pa = ra[16*i +: WA];
        wire signed [WB:0] pb = {1'b0, rb[16*k +: WB]};
        always @(posedge clk) m <= pa * pb;
        assign part[i*NB+k] = m;
      end else begin : low
        reg [WA+WB-1:0] m;
        always @(posedge clk) m <= ra[16*i +: WA] * rb[16*k +: WB];
        assign part[i*NB+k] = $signed({1'b0, m});
      end
    end
  end endgenerate
  reg signed [A+B-1:0] sum;
  integer n;
  always @* begin
    sum = 0;
    for (n = 0; n < NA * NB; n = n + 1) sum = sum + (part[n] <<< (16 * (n / NB + n % NB)));
  end
  always @(posedge clk) begin
    ra <= a;
    rb <= b;
    p <= sum;
  end
endmodule

// A queue of 2^A words. At most one word leaves in two clocks; y_data is stable until it is taken.
module unroll_queue #(parameter W = 33, A = 4) (
  input wire clk, input wire rst, input wire we, input wire [W-1:0] d,
  output reg valid, input wire ready, output reg [W-1:0] data, output wire taken);
  reg [A-1:0] head, tail;
  reg reading;
  wire [W-1:0] q;
  unroll_ram #(.W(W), .A(A)) words(.clk(clk), .ra(tail), .q(q), .we(we), .wa(head), .d(d));
  assign taken = valid && ready;
  always @(posedge clk) begin
    if (we) head <= head + 1'b1;
    reading <= !reading && (!valid || ready) && head != tail;
    if (reading) begin
      data <= q;
      valid <= 1;
      tail <= tail + 1'b1;
    end else if (taken) valid <= 0;
    if (rst) begin
      head <= 0;
      tail <= 0;
      reading <= 0;
      valid <= 0;
    end
  end
endmodule
`default_nettype wire
