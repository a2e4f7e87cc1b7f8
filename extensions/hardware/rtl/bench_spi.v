// Sends the vectors of the reference through SPI, as a microcontroller would: reads the status, then writes a step of x
// in one or two parts, or reads the available y. The bus clock has random pauses.
//   +stall=N  the bus pauses before N of 256 bits; +resets=N during a run; +seed=N
// For the core alone see bench.v.
`timescale 1ns/1ps
`default_nettype none
module bench;
`define BUS "SPI"
`include "bench_bus.v"
  reg cs_n = 1, sck = 0, mosi = 0;
  reg [7:0] status, in, in3, in2, in1;
  wire miso, x_room, y_there;
  integer k, part;
  unroll_model_spi dut(.clk(clk), .rst(rst), .cs_n(cs_n), .sck(sck), .mosi(mosi), .miso(miso), .x_room(x_room),
    .y_there(y_there));
  task send(input [7:0] out, output [7:0] answer);
    for (k = 7; k >= 0; k = k - 1) begin
      mosi = out[k];
      clocks(4);
      idle;
      answer[k] = miso;
      sck = 1;
      clocks(4);
      idle;
      sck = 0;
    end
  endtask
  task choose(input [7:0] command);
    begin
      cs_n = 0;
      clocks(4);
      send(command, status);
      if (status[7]) begin
        $display("FAIL: a word was lost");
        $fatal;
      end
    end
  endtask
  task release_;
    begin
      clocks(4);
      cs_n = 1;
      clocks(8);
      idle;
    end
  endtask
  task load_all(input [15:0] flips);
    begin
      choose(8'h04);
      for (i = 0; i < WORDS; i = i + 1) begin
        send(weights[i][15:8] ^ flips[15:8], in);
        send(weights[i][7:0] ^ flips[7:0], in);
      end
      release_;
      clocks(8);
    end
  endtask
  task send_x(input integer count);
    begin
      choose(x[sent][16] && sent % X == 0 ? 8'h81 : 8'h01);
      for (i = 0; i < count; i = i + 1) begin
        send(x[sent][15:8], in);
        send(x[sent][7:0], in);
        sent = sent + 1;
      end
      release_;
    end
  endtask
  task run;
    while (got < cut) begin
      choose(8'h00);
      release_;
      if (status[0] && sent < STEPS * X) begin
        part = dice(X);
        if (part > 0) send_x(part);
        send_x(X - part);
      end
      if (status[1]) begin
        choose(8'h02);
        send(0, status);
        while (status[1] && got < cut) begin
          send(0, in3);
          send(0, in2);
          send(0, in1);
          send(0, in);
          check({in3, in2, in1, in}, status[2]);
          send(0, status);
        end
        release_;
      end
    end
  endtask
endmodule
`default_nettype wire
