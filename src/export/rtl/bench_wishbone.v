// The vectors of the reference through Wishbone, as a program would: status, then what can be done, in random order.
//   +stall=N  before N of 256 cycles the bus is idle; +resets=N in the midst of a run; +seed=N
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
      // y that the words sent will cause may be waited for
      if (status[1]) begin
        cycle(0, 2, 0, word);
        check(word, status[2]);
      end else if (got < sent / X * Y && dice(16) == 0) begin
        cycle(0, 2, 0, word);
        check(word, got % Y == Y - 1);
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
    $display("PASS: %0d steps through Wishbone, %0d resets", STEPS, resets);
    $finish;
  end
endmodule
`default_nettype wire
