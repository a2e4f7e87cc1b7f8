// The vectors of the reference through AXI-Stream, with random stalls at both ends and resets:
//   +stall=N  of 256 handshakes wait on either side; +resets=N in the midst of a run; +seed=N
// Not the core alone: bench.v.
`timescale 1ns/1ps
`default_nettype none
module bench;
  localparam STEPS = `STEPS, X = `X, Y = `Y, WORDS = `LOADED;
  reg clk = 0, rst = 1;
  always #5 clk = !clk;
  reg [16:0] x [0:STEPS*X-1];
  reg [31:0] y [0:STEPS*Y-1];
  reg [15:0] weights [0:WORDS-1];
  integer stall = 0, resets = 0, seed = 1, turn, sent, got, cut, quiet = 0, i;
  initial begin
    $readmemh(`X_FILE, x);
    $readmemh(`Y_FILE, y);
    if (WORDS > 1) $readmemh(`LOAD_FILE, weights);
    if ($value$plusargs("stall=%d", stall)) ;
    if ($value$plusargs("resets=%d", resets)) ;
    if ($value$plusargs("seed=%d", seed)) ;
  end
  always @(posedge clk) begin
    quiet <= quiet + 1;
    if (quiet > 1000000) begin
      $display("FAIL: nothing came for %0d clocks at step %0d", quiet, got / Y);
      $fatal;
    end
  end
  // Inputs change at the falling edge: what is agreed then, the next rising edge does.
  function integer dice(input integer n); dice = $unsigned($random(seed)) % n; endfunction
  task clocks(input integer n); repeat (n) @(negedge clk); endtask
  task idle; if (dice(256) < stall) clocks(1 + dice(9)); endtask
  task check(input [31:0] word, input last);
    begin
      quiet = 0;
      if (word !== y[got] || last !== (got % Y == Y - 1)) begin
        $display("FAIL: step %0d, y[%0d] is %0d, not %0d", got / Y, got % Y, $signed(word), $signed(y[got]));
        $fatal;
      end
      got = got + 1;
    end
  endtask
  reg x_valid = 0, x_last, y_ready = 0, w_valid = 0, w_last;
  reg [15:0] x_data, w_data;
  wire x_ready, y_valid, y_last, w_ready;
  wire [31:0] y_data;
  unroll_model_axis dut(.aclk(clk), .aresetn(!rst), .s_axis_tvalid(x_valid), .s_axis_tready(x_ready),
    .s_axis_tdata(x_data), .s_axis_tlast(x_last), .m_axis_tvalid(y_valid), .m_axis_tready(y_ready),
    .m_axis_tdata(y_data), .m_axis_tlast(y_last), .s_weights_tvalid(w_valid), .s_weights_tready(w_ready),
    .s_weights_tdata(w_data), .s_weights_tlast(w_last));
  // What is offered stays until it is taken.
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
  // Each turn but the last ends with a reset somewhere within it. Weights that can be loaded
  // are, first wrong ones; resets leave them.
  initial begin
    clocks(2);
    for (turn = 0; turn <= resets; turn = turn + 1) begin
      rst = 1;
      clocks(1 + dice(4));
      rst = 0;
      sent = 0;
      got = 0;
      cut = turn < resets ? 1 + dice(STEPS * Y - 1) : STEPS * Y;
      if (WORDS > 1 && turn == 0) begin
        load_all(16'hffff);
        load_all(16'h0000);
      end
      run;
    end
    $display("PASS: %0d steps through AXI-Stream, %0d resets", STEPS, resets);
    $finish;
  end
endmodule
`default_nettype wire
