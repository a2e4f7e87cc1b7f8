// Simulation model of the SPRAM of an iCE40 UltraPlus: one port, one clock of latency. Not for synthesis.
`default_nettype none
module SB_SPRAM256KA (
  input wire [13:0] ADDRESS, input wire [15:0] DATAIN, input wire [3:0] MASKWREN, input wire WREN, input wire CHIPSELECT,
  input wire CLOCK, input wire STANDBY, input wire SLEEP, input wire POWEROFF, output reg [15:0] DATAOUT);
  reg [15:0] word [0:16383];
  always @(posedge CLOCK)
    if (CHIPSELECT && !STANDBY && !SLEEP && POWEROFF) begin
      if (WREN) word[ADDRESS] <= DATAIN;
      else DATAOUT <= word[ADDRESS];
    end
endmodule
`default_nettype wire
