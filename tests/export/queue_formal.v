// Properties of the queue of y, for yosys: a result stays until it is taken; none is lost, duplicated or out of order.
// The writer is the core, which writes only while there is room. Not synthesized.
`default_nettype none
module queue_formal(input wire clk, input wire we, input wire [3:0] d, input wire ready, input wire [2:0] chosen);
  reg rst = 1;
  always @(posedge clk) rst <= 0;
  wire valid, taken;
  wire [3:0] data;
  reg [2:0] room = 3, written = 0, read = 0;
  unroll_queue #(.W(4), .A(2)) queue(.clk(clk), .rst(rst), .we(we), .d(d), .valid(valid), .ready(ready), .data(data),
    .taken(taken));
  reg was_rst = 1, held = 0, seen = 0;
  reg [2:0] watched = 0;
  reg [3:0] before = 0, expected = 0;
  always @(posedge clk) begin
    was_rst <= rst;
    held <= !rst && valid && !ready;
    before <= data;
    if (!rst) begin
      room <= room - we + taken;
      written <= written + we;
      read <= read + taken;
    end
    // the word of number `watched` modulo 8, when it is first chosen
    if (rst) watched <= chosen;
    if (!rst && we && !seen && written == watched) begin
      seen <= 1;
      expected <= d;
    end
    if (!rst && taken && seen && read == watched) seen <= 0;
  end
  always @* begin
    assume(!we || room != 0);
    assume(!(rst && we));
    if (!rst && !was_rst) begin
      if (held) assert(valid && data == before);
      if (taken && seen && read == watched) assert(data == expected);
      if (taken) assert(room != 3);
    end
  end
endmodule
`default_nettype wire
