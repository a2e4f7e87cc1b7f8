// Sends the vectors of the reference through AXI-Stream, with random stalls at both ends and resets:
//   +stall=N  N of 256 handshakes wait on either side; +resets=N during a run; +seed=N
// For the core alone see bench.v.
`timescale 1ns/1ps
`default_nettype none
module bench;
`define BUS "AXI-Stream"
`include "bench_bus.v"
  reg x_valid = 0, x_last, y_ready = 0, w_valid = 0, w_last;
  reg [15:0] x_data, w_data;
  wire x_ready, y_valid, y_last, w_ready;
  wire [31:0] y_data;
  unroll_model_axis dut(.aclk(clk), .aresetn(!rst), .s_axis_tvalid(x_valid), .s_axis_tready(x_ready),
    .s_axis_tdata(x_data), .s_axis_tlast(x_last), .m_axis_tvalid(y_valid), .m_axis_tready(y_ready),
    .m_axis_tdata(y_data), .m_axis_tlast(y_last), .s_weights_tvalid(w_valid), .s_weights_tready(w_ready),
    .s_weights_tdata(w_data), .s_weights_tlast(w_last));
  // An offered word stays until it is taken.
  reg [32:0] offered;
  reg held = 0;
  always @(posedge clk) begin
    if (held && !rst && (!y_valid || {y_last, y_data} !== offered)) begin
      $display("FAIL: m_axis changed before it was taken");
      $fatal;
    end
    held <= y_valid && !y_ready && !rst && !w_valid;
    offered <= {y_last, y_data};
  end
  task load_all(input [15:0] flips);
    for (i = 0; i < WORDS; i = i + 1) begin
      idle;
      w_valid = 1;
      w_data = weights[i] ^ flips;
      w_last = i == WORDS - 1;
      #1 while (!w_ready) @(negedge clk) #1;
      @(negedge clk) w_valid = 0;
    end
  endtask
  task run;
    fork
      while (sent < STEPS * X && got < cut) begin
        idle;
        x_valid = 1;
        x_data = x[sent][15:0];
        x_last = sent % X == X - 1 && (sent == STEPS * X - 1 || x[sent+1][16]);
        #1 while (!x_ready && got < cut) @(negedge clk) #1;
        @(negedge clk) x_valid = 0;
        sent = sent + 1;
      end
      while (got < cut) begin
        idle;
        y_ready = 1;
        #1 while (!y_valid) @(negedge clk) #1;
        check(y_data, y_last);
        @(negedge clk) y_ready = 0;
      end
    join
  endtask
endmodule
`default_nettype wire
