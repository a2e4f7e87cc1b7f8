// Shared by the benches of all buses: vectors, random numbers, checks, and turns with resets. Each bench includes this
// file in its module, defines `BUS, and has two tasks: load_all(flips), which loads the weights with some bits flipped,
// and run, which sends x from step `sent` until `cut` words of y are checked. Not a module.
  localparam STEPS = `STEPS, X = `X, Y = `Y, WORDS = `LOADED;
  reg clk = 0, rst = 1, loading = 0;
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
    quiet <= loading ? 0 : quiet + 1;
    if (quiet > 1000000) begin
      $display("FAIL: nothing came for %0d clocks at step %0d", quiet, got / Y);
      $fatal;
    end
  end
  // Inputs change at the falling edge; the next rising edge acts on them.
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
  // Each turn but the last ends with a reset at a random time. Loadable weights are loaded, first wrong ones; resets
  // keep them.
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
        loading = 1; // words by SPI take hundreds of clocks
        load_all(16'hffff);
        load_all(16'h0000);
        loading = 0;
      end
      run;
    end
    $display("PASS: %0d steps through %0s, %0d resets", STEPS, `BUS, resets);
    $finish;
  end
