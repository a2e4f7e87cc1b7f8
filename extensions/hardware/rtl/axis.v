// unroll_model with AXI-Stream: x in words of 16 bits, y of 32, and weights of 16 if they are loadable. s_axis_tlast
// ends a sequence: the next word begins a new one, with zero states. m_axis_tlast ends the y of a step. Incoming
// weights discard the computation in progress; tlast marks their last word. For other buses see wishbone.v and spi.v.
`default_nettype none
module unroll_model_axis (
  input wire aclk, input wire aresetn,
  input wire s_axis_tvalid, output wire s_axis_tready, input wire [15:0] s_axis_tdata, input wire s_axis_tlast,
  output wire m_axis_tvalid, input wire m_axis_tready, output wire [31:0] m_axis_tdata, output wire m_axis_tlast,
  input wire s_weights_tvalid, output wire s_weights_tready, input wire [15:0] s_weights_tdata,
  input wire s_weights_tlast);
  wire x_ready, y_valid, load, quiet, w_taken;
  wire rst = !aresetn;
  reg first;
  unroll_loader loader(.clk(aclk), .rst(rst), .valid(s_weights_tvalid), .ready(s_weights_tready),
    .last(s_weights_tlast), .load(load), .taken(w_taken), .quiet(quiet));
  unroll_model core(.clk(aclk), .rst(rst), .x_valid(s_axis_tvalid && !quiet), .x_ready(x_ready),
    .x_data(s_axis_tdata), .x_first(first), .y_valid(y_valid), .y_ready(m_axis_tready && !quiet),
    .y_data(m_axis_tdata), .y_last(m_axis_tlast), .load(load), .w_valid(w_taken), .w_data(s_weights_tdata), .busy());
  assign s_axis_tready = x_ready && !quiet;
  assign m_axis_tvalid = y_valid && !quiet;
  always @(posedge aclk) begin
    if (quiet) first <= 1;
    else if (s_axis_tvalid && s_axis_tready) first <= s_axis_tlast;
  end
`ifdef FORMAL
  reg [1:0] age = 0;
  reg held = 0, first_ = 1, was_reset = 1;
  reg [32:0] was = 0;
  wire x_goes = s_axis_tvalid && s_axis_tready, x_went = s_axis_tvalid && !quiet && x_ready;
  always @(posedge aclk) begin
    if (!age[1]) age <= age + 1'b1;
    was_reset <= !aresetn;
    held <= m_axis_tvalid && !m_axis_tready && aresetn && !s_weights_tvalid;
    was <= {m_axis_tlast, m_axis_tdata};
    if (quiet) first_ <= 1;
    else if (x_goes) first_ <= s_axis_tlast;
  end
  always @* begin
    if (!age[1]) assume(!aresetn);
    if (age[1] && held && !was_reset) assert(m_axis_tvalid && {m_axis_tlast, m_axis_tdata} == was); // stable until taken
    if (age[1] && !quiet) assert(first == first_);
    if (age[1] && !was_reset) begin
      assert(x_goes == x_went);                         // no word is lost or duplicated
      if (s_weights_tvalid && s_weights_tready) assert(load && w_taken && !s_axis_tready && !m_axis_tvalid);
    end
  end
`endif
endmodule
`default_nettype wire
