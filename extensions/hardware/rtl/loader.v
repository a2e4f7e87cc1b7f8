// Shared by the wrappers: converts a stream of weights, whose last word is marked, to `load` of the core. `quiet` marks
// the clocks of a reset or a load, in which the core neither accepts nor returns words. For the buses see axis.v,
// wishbone.v and spi.v.
`default_nettype none
module unroll_loader (
  input wire clk, input wire rst, input wire valid, output wire ready, input wire last,
  output reg load, output wire taken, output reg quiet);
  reg done;                         // all words have arrived
  reg [2:0] clocks;                 // until the core runs
  assign ready = load && !done;
  assign taken = valid && ready;
  always @(posedge clk) begin
    quiet <= load || clocks > 1 || (valid && clocks == 0);
    if (clocks != 0) clocks <= clocks - 1'b1;
    else done <= 0;
    if (valid && !load && clocks == 0) load <= 1;
    if (taken && last) begin
      done <= 1;
      clocks <= 5;
    end
    if (done && clocks == 4) load <= 0;
    if (rst) begin
      quiet <= 1;
      load <= 0;
      done <= 0;
      clocks <= 3;
    end
  end
`ifdef FORMAL
  reg [1:0] age = 0;                // a reset has happened: the buses assume it
  always @(posedge clk) if (!age[1]) age <= age + 1'b1;
  always @* if (age[1]) assert(quiet == (load || clocks != 0));
`endif
endmodule
`default_nettype wire
