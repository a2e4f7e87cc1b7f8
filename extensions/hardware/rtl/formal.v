// The network for `make formal`: it may do anything that its handshakes allow. Properties that the buses may expect of
// it are assumed; properties that it expects of them are asserted. Those that users may expect of a bus are at the end
// of the bus's own file. yosys proves them by induction. Not for synthesis.
`default_nettype none

module unroll_model (
  input wire clk, input wire rst,
  input wire x_valid, output wire x_ready, input wire [15:0] x_data, input wire x_first,
  output wire y_valid, input wire y_ready, output wire [31:0] y_data, output wire y_last,
  input wire load, input wire w_valid, input wire [15:0] w_data, output wire busy);
  (* keep *) wire free_x, free_y, free_last;     // undriven: arbitrary values
  (* keep *) wire [31:0] free_data;
  assign {x_ready, y_valid, y_last, y_data, busy} = {free_x, free_y, free_last, free_data, 1'b0};
  reg reset = 1, held = 0;
  reg [1:0] age = 0;                            // before the end of the first reset, nothing is asserted
  reg [32:0] was = 0;
  always @(posedge clk) begin
    if (!age[1]) age <= age + 1'b1;
    reset <= rst || load;
    held <= y_valid && !y_ready && !rst && !load;
    was <= {y_last, y_data};
  end
  always @* begin
    if (held && !reset) assume(y_valid && {y_last, y_data} == was);
    if (age[1] && reset) assert(!x_valid && !y_ready);     // a word would be lost
    if (age[1] && w_valid) assert(load);
  end
endmodule

`default_nettype wire
