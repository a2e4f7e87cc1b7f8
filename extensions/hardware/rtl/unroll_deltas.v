// The operands of products as lists of moved values. An element is listed as {difference, place} if it differs by more
// than a threshold from the value that products last used; all others take no clock. Lists have two banks, like the
// values without skipping. The value last used is kept.
`default_nettype none
module unroll_deltas #(
  parameter OB = 8, XA = 4, KA = 4, VI = 1, LISTS = 1,
  parameter [255:0] EVEN = 0, ODD = 0, THRESHOLDS = 0) ( // 16 bits per list: start of its banks; threshold of differences
  input wire clk, input wire rst,
  input wire valid, input wire [VI-1:0] id, input wire bank, input wire first, // an element; `first` restarts the list
  input wire start,                                                            // of a sequence: products have used zeros
  input wire [XA-1:0] at, input wire signed [OB-1:0] d,                        // EVEN + its index
  input wire [XA-1:0] ra, output wire [OB+KA:0] q,
  input wire [VI-1:0] of, input wire of_bank, output wire [KA:0] count);       // 5 clocks after its last element
  reg v1, v2, v3, v4, b1, b2, b3, b4, f1, f2, f3, f4, s1, s2, s3, s4, moved4;
  reg [VI-1:0] i1, i2, i3, i4;
  reg [XA-1:0] a1, a2, a3, a4;
  reg signed [OB-1:0] d1, d2, d3, d4;
  reg signed [OB:0] delta3, delta4;
  reg [KA:0] counts [0:(2<<VI)-1];
  wire signed [OB-1:0] old2;
  unroll_ram #(.W(OB), .A(XA)) had(.clk(clk), .ra(a1), .q(old2), .we(v4 && (moved4 || s4)), .wa(a4),
    .d(moved4 ? d4 : {OB{1'b0}}));
  wire [OB:0] magnitude3 = delta3[OB] ? -delta3 : delta3;
  wire [15:0] threshold3 = THRESHOLDS[16*i3 +: 16], even3 = EVEN[16*i3 +: 16], even4 = EVEN[16*i4 +: 16],
    odd4 = ODD[16*i4 +: 16];
  reg [KA-1:0] place4;
  wire [KA:0] n4 = f4 ? {(KA+1){1'b0}} : counts[{i4, b4}];
  wire [XA-1:0] to4 = (b4 ? odd4[XA-1:0] : even4[XA-1:0]) + n4;
  unroll_ram #(.W(OB+1+KA), .A(XA)) lists(.clk(clk), .ra(ra), .q(q), .we(v4 && moved4), .wa(to4), .d({delta4, place4}));
  assign count = counts[{of, of_bank}];
  always @(posedge clk) begin
    {v1, b1, f1, s1, i1, a1, d1} <= {valid, bank, first, start, id, at, d};
    {v2, b2, f2, s2, i2, a2, d2} <= {v1, b1, f1, s1, i1, a1, d1};
    {v3, b3, f3, s3, i3, a3, d3} <= {v2, b2, f2, s2, i2, a2, d2};
    delta3 <= s2 ? d2 : d2 - old2;
    {v4, b4, f4, s4, i4, a4, d4, delta4} <= {v3, b3, f3, s3, i3, a3, d3, delta3};
    moved4 <= magnitude3 > threshold3;
    place4 <= a3 - even3[XA-1:0];
    if (v4) counts[{i4, b4}] <= n4 + moved4;
    if (rst) {v1, v2, v3, v4} <= 0;
  end
endmodule
`default_nettype wire
