// unroll_model as a Wishbone slave (classic cycles, 32 bits, as in LiteX). Words by address:
//   0: status, read only: bit 0: x may be written; 1: y may be read; 2: this y is the last of its step; 3: weights are
//   being loaded
//   1: x, written: bits 15:0; bit 16: first step of a sequence. 2: y, read. 3: weights, written; bit 16: last word
// A cycle of x or y that must wait is acknowledged as soon as it is possible; a program that reads the status first
// never waits. For other buses see axis.v and spi.v.
`default_nettype none
module unroll_model_wishbone (
  input wire clk, input wire rst,
  input wire wb_cyc, input wire wb_stb, input wire wb_we, input wire [29:0] wb_adr, input wire [31:0] wb_dat_w,
  input wire [3:0] wb_sel, output reg [31:0] wb_dat_r, output reg wb_ack, output wire wb_err);
  localparam [1:0] STATUS = 0, X = 1, Y = 2, WEIGHTS = 3;
  wire x_ready, y_valid, y_last, load, quiet, w_ready, w_taken;
  wire [31:0] y_data;
  wire cycle = wb_cyc && wb_stb && !wb_ack;
  wire [1:0] address = wb_adr[1:0];
  wire x_valid = cycle && wb_we && address == X && !quiet;
  wire y_ready = cycle && !wb_we && address == Y && !quiet;
  wire w_valid = cycle && wb_we && address == WEIGHTS;
  unroll_loader loader(.clk(clk), .rst(rst), .valid(w_valid), .ready(w_ready), .last(wb_dat_w[16]), .load(load),
    .taken(w_taken), .quiet(quiet));
  unroll_model core(.clk(clk), .rst(rst), .x_valid(x_valid), .x_ready(x_ready), .x_data(wb_dat_w[15:0]),
    .x_first(wb_dat_w[16]), .y_valid(y_valid), .y_ready(y_ready), .y_data(y_data), .y_last(y_last), .load(load),
    .w_valid(w_taken), .w_data(wb_dat_w[15:0]), .busy());
  // Done at once: status, and accesses without effect: reads of x and writes of y.
  wire waits = wb_we ? address == X || address == WEIGHTS : address == Y;
  assign wb_err = 1'b0;
  always @(posedge clk) begin
    wb_ack <= cycle && (!waits || (x_valid && x_ready) || (y_ready && y_valid) || w_taken);
    wb_dat_r <= address == Y ? y_data : address == STATUS
      ? {28'd0, load, y_last, y_valid && !quiet, x_ready && !quiet} : 32'd0;
    if (rst) wb_ack <= 0;
  end
`ifdef FORMAL
  wire x_goes = x_valid && x_ready, y_goes = y_valid && y_ready;
  reg [1:0] age = 0;
  reg waiting = 0, was_ack = 0, went = 0, y_went = 0, slow = 0, was_rst = 1;
  reg [63:0] was = 0;
  reg [31:0] y = 0;
  always @(posedge clk) begin
    if (!age[1]) age <= age + 1'b1;
    was_rst <= rst;
    waiting <= cycle && !rst;
    was <= {wb_cyc, wb_stb, wb_we, wb_adr[28:0], wb_dat_w};
    was_ack <= wb_ack;
    went <= x_goes || y_goes || w_taken;
    y_went <= y_goes;
    y <= y_data;
    slow <= waits;
  end
  always @* begin
    if (!age[1]) assume(rst);
    if (waiting) assume({wb_cyc, wb_stb, wb_we, wb_adr[28:0], wb_dat_w} == was); // obligation of masters
    if (age[1] && !was_rst) begin
      if (wb_ack) assert(!was_ack && wb_cyc && wb_stb); // a cycle is acknowledged once
      if (went) assert(wb_ack);                         // each transferred word belongs to an acknowledge
      if (wb_ack && slow) assert(went);                 // .. and each acknowledge to a word
      if (y_went) assert(wb_dat_r == y);
    end
  end
`endif
endmodule
`default_nettype wire
