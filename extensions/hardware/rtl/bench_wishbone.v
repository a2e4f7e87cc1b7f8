// Sends the vectors of the reference through Wishbone, as a program would: reads the status, then does what is
// possible, in random order.
//   +stall=N  the bus is idle before N of 256 cycles; +resets=N during a run; +seed=N
// For the core alone see bench.v.
`timescale 1ns/1ps
`default_nettype none
module bench;
`define BUS "Wishbone"
`include "bench_bus.v"
  reg stb = 0, we;
  reg [29:0] adr;
  reg [31:0] dat_w, status, word;
  wire [31:0] dat_r;
  wire ack;
  unroll_model_wishbone dut(.clk(clk), .rst(rst), .wb_cyc(stb), .wb_stb(stb), .wb_we(we), .wb_adr(adr),
    .wb_dat_w(dat_w), .wb_sel(4'b1111), .wb_dat_r(dat_r), .wb_ack(ack), .wb_err());
  task cycle(input write, input [1:0] address, input [31:0] out, output [31:0] in);
    begin
      idle;
      stb = 1;
      we = write;
      adr = address;
      dat_w = out;
      #1 while (!ack) @(negedge clk) #1;
      in = dat_r;
      stb = 0;
      @(negedge clk);
    end
  endtask
  task load_all(input [15:0] flips);
    for (i = 0; i < WORDS; i = i + 1) cycle(1, 3, {15'd0, i == WORDS - 1, weights[i] ^ flips}, word);
  endtask
  task run;
    while (got < cut) begin
      cycle(0, 0, 0, status);
      if (status[0] && sent < STEPS * X && dice(2)) begin
        cycle(1, 1, {15'd0, x[sent]}, word);
        sent = sent + 1;
      end
      // the bench may wait for y that results from the words sent
      if (status[1]) begin
        cycle(0, 2, 0, word);
        check(word, status[2]);
      end else if (got < sent / X * Y && dice(16) == 0) begin
        cycle(0, 2, 0, word);
        check(word, got % Y == Y - 1);
      end
    end
  endtask
endmodule
`default_nettype wire
