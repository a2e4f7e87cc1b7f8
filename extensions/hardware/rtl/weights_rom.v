// Weights that never change: a ROM, which tools map to block RAM. The load port is ignored.
`default_nettype none
module unroll_weights #(parameter W = 32, D = 256, A = 8, FILE = "") (
  input wire clk, input wire [A-1:0] a, output wire [W-1:0] q,
  input wire load, input wire w_valid, input wire [15:0] w_data);
  unroll_rom #(.W(W), .D(D), .A(A), .FILE(FILE)) rom(.clk(clk), .a(a), .q(q));
endmodule
`default_nettype wire
