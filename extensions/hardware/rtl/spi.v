// unroll_model as an SPI slave, mode 0, most significant bit first, for boards with few pins. sck is sampled by clk and
// may have at most an eighth of its rate. While cs_n is low, the first byte is the command; its reply is the status:
//   bit 0: x may be sent, a whole step; 1: y may be read; 2: this y is the last of its step; 3: weights are being
//   loaded;
//   7: a word arrived that could not be accepted, and was lost (until a reset)
//   01: words of x, 16 bits each; 81: the same, the first word begins a new sequence
//   02: a byte with the status, then 32 bits of y; repeated until cs_n is high
//   04: weights, 16 bits each; complete when cs_n is high
// x_room and y_there are bits 0 and 1 as pins. For other buses see axis.v and wishbone.v.
`default_nettype none
module unroll_model_spi (
  input wire clk, input wire rst, input wire cs_n, input wire sck, input wire mosi, output wire miso,
  output wire x_room, output wire y_there);
  localparam [6:0] X = 1, Y = 2, WEIGHTS = 4;
  reg [2:0] sck_, cs_;
  reg [1:0] mosi_;
  wire rises = sck_[2:1] == 2'b01, falls = sck_[2:1] == 2'b10, chosen = !cs_[2];
  reg [2:0] bits;                   // in the byte
  reg [2:0] bytes;                  // in the word; 7: the command
  reg [6:0] in;
  reg [7:0] out;
  reg [7:0] command;
  reg [7:0] high;
  reg [31:0] y;
  reg lost, full, first, next_first, has_y, w_full, w_last, w_some, y_take;
  reg [15:0] word, weight;          // x or the last word of weights; the previous word of weights
  wire [7:0] byte_ = {in, mosi_[1]};
  wire byte_ends = chosen && rises && bits == 7;

  wire x_ready, y_valid, y_last, load, quiet, w_ready, w_taken;
  wire [31:0] y_data;
  // The last word of weights is only known when cs_n is high, so one word always waits.
  unroll_loader loader(.clk(clk), .rst(rst), .valid(w_full), .ready(w_ready), .last(w_last), .load(load),
    .taken(w_taken), .quiet(quiet));
  unroll_model core(.clk(clk), .rst(rst), .x_valid(full && !quiet), .x_ready(x_ready), .x_data(word), .x_first(first),
    .y_valid(y_valid), .y_ready(y_take && !quiet), .y_data(y_data), .y_last(y_last), .load(load),
    .w_valid(w_taken), .w_data(weight), .busy());
  wire taken = full && x_ready && !quiet;
  assign x_room = x_ready && !quiet && !full;
  assign y_there = y_valid && !quiet;
  assign miso = out[7];
  wire [7:0] status = {lost, 3'd0, load, y_last, y_there, x_room};
  always @(posedge clk) begin
    sck_ <= {sck_[1:0], sck};
    cs_ <= {cs_[1:0], cs_n};
    mosi_ <= {mosi_[0], mosi};
    y_take <= 0;
    if (taken) full <= 0;
    if (w_taken) w_full <= 0;
    if (!chosen) begin
      bits <= 0;
      bytes <= 7;
      out <= status;
      command <= 0;
      if (w_some && !w_full) begin
        weight <= word;
        w_full <= 1;
        w_last <= 1;
        w_some <= 0;
      end
    end else begin
      if (rises) begin
        in <= {in[5:0], mosi_[1]};
        bits <= bits + 1'b1;
      end
      if (falls) out <= bits == 0 ? next_byte : {out[6:0], 1'b0};
    end
    if (byte_ends) begin
      high <= byte_;
      if (bytes == 7) begin
        command <= byte_;
        bytes <= 0;
        if (byte_[6:0] == X && byte_[7]) next_first <= 1;
      end else if (command[6:0] == Y) begin
        bytes <= bytes == 4 ? 3'd0 : bytes + 1'b1;
        if (bytes == 4) y_take <= has_y;
      end else begin
        bytes <= bytes == 0;
        if (bytes == 1 && command[6:0] == X) begin
          if (full && !taken) lost <= 1;
          else begin
            word <= {high, byte_};
            first <= next_first;
            next_first <= 0;
          end
          full <= 1;
        end
        if (bytes == 1 && command[6:0] == WEIGHTS) begin
          if (w_some) begin
            if (w_full && !w_taken) lost <= 1;
            weight <= word;
            w_full <= 1;
            w_last <= 0;
          end
          w_some <= 1;
          word <= {high, byte_};
        end
      end
    end
    // y is held from its status on
    if (chosen && falls && bits == 0 && bytes == 0 && command[6:0] == Y) begin
      has_y <= y_there;
      y <= y_data;
    end
    if (rst) begin
      sck_ <= 0;
      cs_ <= 7;
      full <= 0;
      w_full <= 0;
      w_some <= 0;
      w_last <= 0;
      lost <= 0;
      next_first <= 0;
      has_y <= 0;
    end
  end
  wire [7:0] next_byte = command[6:0] != Y || bytes == 0 ? status
    : bytes == 1 ? y[31:24] : bytes == 2 ? y[23:16] : bytes == 3 ? y[15:8] : y[7:0];
`ifdef FORMAL
  reg [1:0] age = 0;
  reg held = 0, w_held = 0, was_rst = 1, took = 0;
  reg [16:0] was = 0, w_was = 0;
  always @(posedge clk) begin
    if (!age[1]) age <= age + 1'b1;
    was_rst <= rst;
    held <= full && !taken;
    was <= {first, word};
    w_held <= w_full && !w_taken;
    w_was <= {w_last, weight};
    took <= y_take;
  end
  always @* begin
    if (!age[1]) assume(rst);
    if (age[1] && !was_rst) begin
      if (held && !w_some) assert(full && {first, word} == was);              // a waiting x does not change
      if (w_held && !lost) assert(w_full && {w_last, weight} == w_was);
      if (y_take) assert(!took);                                              // y is taken once
    end
  end
`endif
endmodule
`default_nettype wire
