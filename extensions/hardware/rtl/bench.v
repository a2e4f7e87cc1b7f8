// Compares the module with the vectors of the reference, with random stalls at both ends if requested:
//   +stall=N     x comes late and y is taken late in N of 256 clocks
//   +resets=N    N resets at random times; each restarts with the first step
//   +patience=N  fails after N clocks without output (100,000)
//   +load        first loads wrong weights and runs some steps, then loads the right ones (loadable memories only)
// Prints PASS and the clocks of a step, or FAIL and the position.
`timescale 1ns/1ps
`default_nettype none
module bench;
  localparam STEPS = `STEPS, X = `X, Y = `Y, WORDS = `LOADED;
  reg clk = 0, rst = 1;
  always #5 clk = !clk;
  reg [16:0] x [0:STEPS*X-1];       // for each word: whether its step is the first of a sequence, then the word
  reg [31:0] y [0:STEPS*Y-1];
  reg [15:0] weights [0:WORDS-1];
  initial begin
    $readmemh(`X_FILE, x);
    $readmemh(`Y_FILE, y);
    if (WORDS > 1) $readmemh(`LOAD_FILE, weights);
  end
  integer stall = 0, resets = 0, seed = 1;
  reg loads = `MUST_LOAD;
  initial begin
    if ($value$plusargs("stall=%d", stall)) ;
    if ($value$plusargs("resets=%d", resets)) ;
    if ($value$plusargs("seed=%d", seed)) ;
    if ($value$plusargs("patience=%d", patience)) ;
    if ($test$plusargs("load")) loads = 1;
  end
  reg [31:0] dice = 1;
  always @(posedge clk) dice <= {dice[30:0], dice[31] ^ dice[21] ^ dice[1] ^ dice[0]} ^ (seed << 3);
  wire late_x = dice[7:0] < stall, late_y = dice[15:8] < stall;

  reg x_valid = 0, x_first = 0, y_ready = 0, load = 0, w_valid = 0;
  reg [15:0] x_data = 0, w_data = 0;
  wire x_ready, y_valid, y_last, busy;
  wire [31:0] y_data;
  `TOP dut(.clk(clk), .rst(rst), .x_valid(x_valid), .x_ready(x_ready), .x_data(x_data), .x_first(x_first),
    .y_valid(y_valid), .y_ready(y_ready), .y_data(y_data), .y_last(y_last), .load(load), .w_valid(w_valid),
    .w_data(w_data), .busy(busy));

  reg [63:0] clock = 0, first = 0, lanes = 0;
  integer sent = 0, got = 0, loaded = 0, turn = 0, done_resets = 0, quiet = 0, patience = 100000;
  // phases: 0 reset, 1 load (other weights in turn 0), 2 run
  integer phase = 0, waits = 0;
  wire wrong_weights = loads && turn == 0 && WORDS > 1;
  task restart;
    begin
      rst <= 1;
      x_valid <= 0;
      sent <= 0;
      got <= 0;
      lanes <= 0;
      waits <= 0;
      quiet <= 0;
    end
  endtask
  always @(posedge clk) begin
    clock <= clock + 1;
    if (phase == 0) begin
      waits <= waits + 1;
      if (waits == 4) begin
        phase <= loads && WORDS > 1 && turn < 2 ? 1 : 2;
        load <= loads && WORDS > 1 && turn < 2;
        loaded <= 0;
        rst <= 0;
      end
    end else if (phase == 1) begin
      w_valid <= !late_x && loaded < WORDS;
      if (!late_x && loaded < WORDS) begin
        w_data <= turn == 0 ? ~weights[loaded] : weights[loaded];
        loaded <= loaded + 1;
      end
      if (loaded == WORDS && !w_valid) begin
        waits <= waits + 1;
        if (waits == 16) begin
          load <= 0;
          phase <= 2;
          turn <= turn + 1;
        end
      end
    end else begin
      if (busy) lanes <= lanes + 1;
      if (!x_valid || x_ready) begin
        x_valid <= sent < STEPS * X && !late_x;
        if (sent < STEPS * X && !late_x) begin
          {x_first, x_data} <= x[sent];
          sent <= sent + 1;
        end
      end
      y_ready <= !late_y;
      quiet <= quiet + 1;
      if (quiet > patience) begin
        $display("FAIL: nothing came for %0d clocks at step %0d", quiet, got / Y);
        $fatal;
      end
      if (y_valid && y_ready) begin
        quiet <= 0;
        got <= got + 1;
        if (!(turn == 1 && loads && WORDS > 1) && (y_data !== y[got] || y_last !== (got % Y == Y - 1))) begin
          $display("FAIL: step %0d, y[%0d] is %0d, not %0d", got / Y, got % Y, $signed(y_data), $signed(y[got]));
          $fatal;
        end
        if (got == Y - 1) begin
          first <= clock;
          lanes <= 0;
        end
        if (got == STEPS * Y - 1) begin
          $display("PASS: %0d steps, %0d.%02d clocks a step, lanes busy %0d.%0d %%", STEPS,
            STEPS > 1 ? (clock - first) / (STEPS - 1) : clock, STEPS > 1 ? (clock - first) * 100 / (STEPS - 1) % 100 : 0,
            STEPS > 1 ? lanes * 100 / (clock - first) : 0, STEPS > 1 ? lanes * 1000 / (clock - first) % 10 : 0);
          $finish;
        end
      end
      // wrong weights: a few steps, then the right ones
      if (loads && WORDS > 1 && turn == 1 && (got > 3 * Y || got == STEPS * Y - 2)) begin
        phase <= 0;
        restart;
      end else if (done_resets < resets && dice[8:0] == 77 && got > 0 && !(loads && WORDS > 1 && turn < 2)) begin
        done_resets <= done_resets + 1;
        phase <= 0;
        turn <= 2;
        restart;
      end
    end
  end
endmodule
`default_nettype wire
