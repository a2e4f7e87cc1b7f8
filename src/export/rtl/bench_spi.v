// The vectors of the reference through SPI, as a microcontroller would: status, then a step of x in one or two parts or
// the y that are there; the clock of the bus has random pauses.
//   +stall=N  before N of 256 bits the bus pauses; +resets=N in the midst of a run; +seed=N
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
    $display("PASS: %0d steps through SPI, %0d resets", STEPS, resets);
    $finish;
  end
endmodule
`default_nettype wire
