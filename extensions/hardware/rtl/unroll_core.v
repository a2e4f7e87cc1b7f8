// A recurrent network as a stream: steps of X values (or a token) in, Y sums (or a class) out. This file is independent
// of cells. Tables define the computation: segments (the order of products), rows (the end of sums), groups and words
// (the pointwise part of each layer). The results match unroll_integer_step_raw bit for bit. Sections: segments, lanes,
// rows, pointwise, ends.
//
// A step's segments are in three lists: early (they read only x), late (they need states of the previous step) and head
// (they compute y). While the last units of a step are still in the pointwise part, the early list of the next step
// runs if its x has arrived, then the head. Without an x the head runs at once.
`default_nettype none

// Computes P sums at a time: the same operand times P weights. Each pipeline stage takes one word per clock.
module unroll_lanes #(parameter P = 4, OB = 8, AB = 24, HOLDS = 1, ADDS = 0) (
  input wire clk, input wire rst, input wire signed [OB-1:0] operand, input wire [8*P-1:0] weights,
  input wire add, input wire first, input wire last, // for the product of the previous clock's operand
  input wire [15:0] count, input wire [2:0] jump,    // with `last`: rows of the segment, and where they begin
  output wire valid, output wire [2:0] valid_jump, output wire signed [AB-1:0] sum,
  input wire [AB*P-1:0] from, output reg [AB*P-1:0] acc, output wire whole); // ADDS: adds to `from`; the new sums
  reg [AB*P-1:0] hold, next;
  assign whole = last_;
  reg [15:0] left, next_left, stays;
  reg [2:0] left_jump, next_jump;
  reg full, last_;
  reg [15:0] count_;
  reg [2:0] jump_;
  genvar i;
  generate for (i = 0; i < P; i = i + 1) begin : lane
    reg signed [OB+7:0] product;
    wire signed [7:0] w = weights[8*i +: 8];
    always @(posedge clk) begin
      product <= operand * w;
      if (add) acc[AB*i +: AB] <= (first ? (ADDS ? from[AB*i +: AB] : {AB{1'b0}}) : acc[AB*i +: AB]) + {{(AB-OB-8){product[OB+7]}}, product};
    end
  end endgenerate
  // Sums leave `hold` one per clock; with HOLDS = 2 those of another segment may wait in `next`. Two segments are at
  // least 8 clocks apart, so that values written by the rows can be read.
  wire ends = stays <= 1;
  assign valid = left != 0;
  assign valid_jump = left_jump;
  assign sum = hold[AB-1:0];
  always @(posedge clk) begin
    last_ <= last;
    count_ <= count;
    jump_ <= jump;
    hold <= {{AB{1'b0}}, hold[AB*P-1:AB*(P>1)]};
    left <= left == 0 ? 16'd0 : left - 1'b1;
    stays <= ends ? 16'd0 : stays - 1'b1;
    left_jump <= 0;
    if (HOLDS == 2 && ends && full) begin
      hold <= next;
      left <= next_left;
      stays <= next_left < 8 ? 16'd8 : next_left;
      left_jump <= next_jump;
      full <= last_;
    end else if (last_ && (HOLDS == 1 || ends)) begin
      hold <= acc;
      left <= count_;
      stays <= count_ < 8 ? 16'd8 : count_;
      left_jump <= jump_;
    end else if (HOLDS == 2 && last_) full <= 1;
    if (HOLDS == 2 && last_) begin
      next <= acc;
      next_left <= count_;
      next_jump <= jump_;
    end
    if (rst) begin
      left <= 0;
      stays <= 0;
      full <= 0;
      last_ <= 0;
    end
  end
endmodule

module unroll_core #(
  parameter P = 4, HOLDS = 1,            // lanes; segments whose sums may wait
  parameter X = 1, Y = 1, CLASS = 0,     // words of a step, rows of the head; 1: output the index of the largest
  parameter TOKENS = 0, EMBEDS = 0,      // number of tokens, if x is one; EMBEDS: its row of X values is looked up
  parameter OB = 8, AB = 24, MB = 15, BB = 32,        // bits: operand, accumulator, multiplier, bias
  parameter XA = 4, KA = 4, UA = 4, NB = 8, PA = 2,   // bits of a segment: address, length, units, need, rows
  parameter SEGS = 4, SA = 3, HEAD = 1, LATE = 2, LATES = 1, // segments; starts of lists; whether a late list exists
  parameter WD = 16, WA = 4, WHEAD = 0, WLATE = 0,    // words of weights; starts of lists
  parameter RD = 16, RA = 4, RHEAD = 0, RLATE = 0,    // rows; starts of lists
  parameter SB = 1, FB = 1, SLOTS_A = 4,      // bits of a row: shift, format; of a slot
  parameter [255:0] ROW_SHIFTS = 0, FORMATS = 0,      // 8 bits each, signed: right shifts
  parameter GROUPS = 2, GA = 1,                       // per step
  parameter UPD = 8, UPA = 4, RB = 3, TB = 2, VB = 1, IB = 1, STA = 4, UO = 4, // words, rounds, temporaries, vectors
  parameter PB = 1, CB = 1, OUB = 1, USES_LIMITS = 0, LEFT = 0, FIELD_LEFT = 0, // maximum left shifts of results
  parameter [255:0] P_SHIFTS = 0, C_SHIFTS = 0, OUT_SHIFTS = 0,
  parameter DELTA = 0, LISTS = 1, VI = 1,              // 1: products skip values that have not moved (unroll_deltas.v)
  parameter [255:0] EVEN = 0, ODD = 0, THRESHOLDS = 0,
  parameter QA = 2, BANK = 1,                          // queue of y; start of the second bank of x
  parameter F_WEIGHTS = "", F_SEGMENTS = "", F_ROWS = "", F_GROUPS = "", F_WORDS = "", F_VECTORS = "", F_TABLE = "",
  parameter F_EMBEDDING = "") (
  input wire clk, input wire rst,
  input wire x_valid, output wire x_ready, input wire [15:0] x_data, input wire x_first, // of a sequence, with zero states
  output wire y_valid, input wire y_ready, output wire [31:0] y_data, output wire y_last,
  input wire load, input wire w_valid, input wire [15:0] w_data, // new weights; resets while `load` is high
  output wire busy);                                             // high in clocks in which the lanes multiply

  reg reset;
  always @(posedge clk) reset <= rst | load;

  // v 2^-shift, with one more bit for rounding.
  function signed [63:0] half_shifted(input signed [63:0] v, input signed [7:0] shift);
    half_shifted = shift > 0 ? v >>> (shift - 1) : v <<< (1 - shift);
  endfunction
  function signed [15:0] saturated(input signed [63:0] v);
    saturated = v[63:15] == {49{v[63]}} ? v[15:0] : {v[63], {15{!v[63]}}};
  endfunction
  // Operands have OB of the 16 bits.
  function [OB-1:0] narrowed(input signed [15:0] v);
    reg signed [16:0] wide, r;
    begin
      wide = v;
      r = OB == 16 ? wide : ((wide >>> (15 - OB)) + 17'sd1) >>> 1;
      narrowed = OB < 16 && !r[16] && r[OB-1] ? {1'b0, {(OB-1){1'b1}}} : r[OB-1:0];
    end
  endfunction

  // ==== segments ========================================================================================================
  localparam [1:0] IN_EARLY = 0, IN_HEAD = 1, IN_LATE = 2;
  localparam S_ODD = XA, S_LENGTH = 2*XA, S_UNITS = S_LENGTH + KA, S_NEED = S_UNITS + UA, S_ROWS = S_NEED + NB,
             S_FLAGS = S_ROWS + PA, S_LIST = S_FLAGS + 7, SW = S_LIST + (DELTA ? VI : 0);
  // The table is read one segment ahead: q is at `at`, s runs next, c is running. The conditions for a product are in
  // registers: slack (the groups are done), x_ok, y_ok, room.
  reg [SA-1:0] at;
  reg [1:0] at_list, s_list, c_list;
  reg at_start, s_start, c_start;                 // first of its list
  reg q_known, s_known, live;
  reg early_ran;                                  // before the head
  wire [SW-1:0] q;
  reg [SW-1:0] s;
  reg [UA-1:0] c_units, unit;
  reg [PA-1:0] c_rows;
  reg [15:0] rows, drain, last_rows;              // clocks until all sums have left the lanes
  reg c_waits, c_zero, c_token, c_head, c_ends, c_flips, c_frees;
  reg [XA-1:0] xk;                                // address of the element
  reg [KA-1:0] left;
  reg at_begin, at_end;
  reg signed [NB-1:0] lead, slack;                // groups done since the step began; minus those that are needed
  reg [WA-1:0] wk;
  reg parity, writing;                            // bank from which a step reads x, and bank to which x is written
  reg [1:0] x_full, x_starts;
  reg [1:0] starts;                               // by parity: the states of the step are zeros
  reg [15:0] token [0:1];
  reg [QA:0] y_free;
  reg x_ok, y_ok, room;
  wire group_done;

  // With skipping, a segment's length is known when its list is complete, one clock before the first product. An empty
  // list has one product, of zero.
  reg counted, nothing;
  reg [VI-1:0] c_vector;
  reg [WA-1:0] c_words;
  reg [SA-1:0] s_at, c_at;
  wire [KA:0] in_list;
  wire [KA:0] count = c_token ? {{KA{1'b0}}, 1'b1} : c_zero && starts[parity] ? {(KA+1){1'b0}} : in_list;
  wire ready = live && !slack[NB-1] && x_ok && y_ok;
  wire go = ready && (DELTA == 0 || counted) && (!at_end || room);
  wire ends = go && at_end, flips = ends && c_flips;
  wire take = s_known && (!live || ends);
  wire read = q_known && (!s_known || take);
  wire q_ends = q[S_FLAGS+4];
  wire [1:0] next_list = !q_ends ? at_list
    : at_list == IN_LATE ? (x_full[!parity] ? IN_EARLY : IN_HEAD)
    : at_list == IN_EARLY ? (LATES ? (early_ran ? IN_HEAD : IN_LATE) : IN_HEAD)
    : (LATES && early_ran) ? IN_LATE : IN_EARLY;
  wire [SA-1:0] next = !q_ends ? at + 1'b1 : next_list == IN_EARLY ? {SA{1'b0}}
    : next_list == IN_HEAD ? HEAD[SA-1:0] : LATE[SA-1:0];
  unroll_rom #(.W(SW), .D(SEGS), .A(SA), .FILE(F_SEGMENTS)) segments(.clk(clk), .a(at), .q(q));
  wire parity_next = parity ^ flips;
  wire [PA-1:0] s_rows = s[S_ROWS +: PA];
  wire signed [NB-1:0] lead_now = lead + $signed({1'b0, group_done});
  wire signed [NB-1:0] slack_now = lead_now - $signed(s[S_NEED +: NB]) - $signed({{(NB-1){1'b0}}, 1'b1});
  wire x_full_next = flips ? x_full[!parity] : x_full[parity] && !(ends && c_frees);
  wire y_room = CLASS ? y_free > 1 : y_free > 2 * P; // one clock late: another segment may not be counted yet
  assign busy = go;
  always @(posedge clk) begin
    q_known <= !read;
    if (read) begin
      s <= q;
      s_list <= at_list;
      s_start <= at_start;
      s_at <= at;
      at <= next;
      at_list <= next_list;
      at_start <= q_ends;
      if (q_ends && at_list == IN_LATE) early_ran <= x_full[!parity];
    end
    s_known <= read || (s_known && !take);
    if (take) begin
      c_start <= s_start;
      c_list <= s_list;
      c_units <= s[S_UNITS +: UA];
      c_rows <= s_rows;
      rows <= s_rows < 7 ? 16'd8 : s_rows + 16'd1;
      {c_frees, c_flips, c_ends, c_head, c_token, c_zero, c_waits} <= s[S_FLAGS +: 7];
      xk <= parity_next ? s[S_ODD +: XA] : s[0 +: XA];
      live <= 1;
      left <= s[S_LENGTH +: KA];
      at_begin <= 1;
      at_end <= s[S_LENGTH +: KA] == 0;
      unit <= 0;
      counted <= 0;
      if (DELTA) c_vector <= s[SW-1 -: VI];
      c_at <= s_at;
      c_words <= s[S_FLAGS+2] ? TOKENS + 1 : s[S_LENGTH +: KA] + 1'b1;
      slack <= flips ? slack_now - $signed(GROUPS[NB-1:0]) : slack_now;
    end else begin
      if (ends) live <= 0;
      if (go) begin
        left <= left - 1'b1;
        at_begin <= 0;
        at_end <= left == 1;
        xk <= xk + 1'b1;
        unit <= unit == c_units ? {UA{1'b0}} : unit + 1'b1;
      end
      if (DELTA && ready && !counted) begin
        counted <= 1;
        nothing <= count == 0;
        at_end <= count <= 1;
        left <= count == 0 ? {KA{1'b0}} : count - 1'b1;
      end
      slack <= slack + $signed({1'b0, group_done}) - $signed({1'b0, go && unit == c_units});
    end
    x_ok <= (take ? !s[S_FLAGS] : !c_waits) || x_full_next;
    y_ok <= (take ? !s[S_FLAGS+3] : !c_head) || y_room;
    room <= ends ? HOLDS == 2 && drain <= 2 : drain <= (HOLDS == 2 ? last_rows + 16'd2 : 16'd2);
    if (take && s_start) wk <= s_list == IN_EARLY ? {WA{1'b0}} : s_list == IN_HEAD ? WHEAD[WA-1:0] : WLATE[WA-1:0];
    else if (DELTA ? take : go) wk <= wk + (DELTA ? c_words : c_token ? TOKENS + 1 : 1);
    if (go && c_waits) starts[parity] <= x_starts[parity];
    parity <= parity_next;
    lead <= flips ? lead_now - $signed(GROUPS[NB-1:0]) : lead_now;
    drain <= (ends ? rows : 16'd0) + (drain == 0 ? 16'd0 : drain - 1'b1);
    if (ends) last_rows <= rows;
    if (reset) begin
      at <= 0;
      at_list <= IN_EARLY;
      at_start <= 1;
      q_known <= 0;
      s_known <= 0;
      early_ran <= 0;
      live <= 0;
      counted <= 0;
      nothing <= 0;
      parity <= 0;
      lead <= 0;
      slack <= 0;
      drain <= 0;
      last_rows <= 0;
      room <= 0;
      x_ok <= 0;
      y_ok <= 0;
    end
  end

  // ==== lanes ===========================================================================================================
  wire [OW-1:0] element;
  wire [8*P-1:0] word;
  reg x_we;
  reg [XA-1:0] x_wa;
  reg [OB-1:0] x_wd;
  localparam OW = OB + DELTA;
  wire [WA-1:0] weight_at;
  wire [WA-1:0] weights_of = TOKENS != 0 && !EMBEDS && c_token ? wk + token[parity] : wk;
  unroll_weights #(.W(8*P), .D(WD), .A(WA), .FILE(F_WEIGHTS)) weights(.clk(clk), .a(weight_at), .q(word),
    .load(load), .w_valid(w_valid), .w_data(w_data));
  reg v1, f1, l1, z1, t1, v2, f2, l2, v3, f3, l3, v4, f4, l4;
  reg [2:0] j1, j2, j3, j4;
  reg [PA-1:0] n1, n2, n3, n4;
  reg [OW-1:0] operand, operand3;
  reg [8*P-1:0] w2;
  wire [AB*P-1:0] stored, whole;
  wire stores;
  wire sum_valid;
  wire [2:0] sum_jump;
  wire signed [AB-1:0] sum;
  always @(posedge clk) begin
    v1 <= go;
    f1 <= at_begin;
    l1 <= ends;
    z1 <= (c_zero && starts[parity]) || (DELTA && nothing && !c_token);
    t1 <= c_token;
    n1 <= c_rows;
    j1 <= {c_start, c_list};
    operand <= z1 ? {OW{1'b0}} : t1 ? {{(OW-1){1'b0}}, 1'b1} : element;
    operand3 <= operand;
    w2 <= word;
    {v2, f2, l2, n2, j2} <= {v1, f1, l1, n1, j1};
    {v3, f3, l3, n3, j3} <= {v2, f2, l2, n2, j2};
    {v4, f4, l4, n4, j4} <= {v3, f3, l3, n3, j3};
    if (reset) {v1, l1, v2, l2, v3, l3, v4, l4} <= 0;
  end
  unroll_lanes #(.P(P), .OB(OW), .AB(AB), .HOLDS(HOLDS), .ADDS(DELTA)) lanes(.clk(clk), .rst(reset),
    .operand(DELTA ? operand3 : operand), .weights(w2), .add(DELTA ? v4 : v3), .first(DELTA ? f4 : f3),
    .last(DELTA ? l4 : l3), .count({{(16-PA){1'b0}}, DELTA ? n4 : n3} + 16'd1), .jump(DELTA ? j4 : j3),
    .valid(sum_valid), .valid_jump(sum_jump), .sum(sum), .from(stored), .acc(whole), .whole(stores));
  // The operand is a value, or with skipping an entry of a list of moved values. In the latter case, products are added
  // to the sums of the previous step, except those of tokens and of a sequence's first step.
  reg d_valid, d_bank, d_first, d_start;
  reg [VI-1:0] d_id;
  generate if (DELTA) begin : deltas
    reg [SA-1:0] at1, at2, at3, at4, at5;
    reg parity1, zero2, zero3, zero4;
    reg [WA-1:0] weights1;
    wire [OB+KA:0] entry;
    wire [AB*P-1:0] kept;
    assign element = entry[KA +: OW];
    assign weight_at = weights1 + (t1 || z1 ? {KA{1'b0}} : entry[KA-1:0]);
    assign stored = zero4 ? {(AB*P){1'b0}} : kept;
    always @(posedge clk) begin
      weights1 <= weights_of;
      {at1, at2, at3, at4, at5} <= {c_at, at1, at2, at3, at4};
      parity1 <= parity ^ c_head;
      zero2 <= t1 || starts[parity1];
      {zero3, zero4} <= {zero2, zero3};
    end
    unroll_ram #(.W(AB*P), .A(SA)) sums(.clk(clk), .ra(at3), .q(kept), .we(stores), .wa(at5), .d(whole));
    unroll_deltas #(.OB(OB), .XA(XA), .KA(KA), .VI(VI), .LISTS(LISTS), .EVEN(EVEN), .ODD(ODD), .THRESHOLDS(THRESHOLDS))
      moved(.clk(clk), .rst(reset), .valid(d_valid), .id(d_id), .bank(d_bank), .first(d_first), .start(d_start), .at(x_wa),
      .d(x_wd), .ra(xk), .q(entry), .of(c_vector), .of_bank(parity ^ (c_zero | c_head)), .count(in_list));
  end else begin : numbers
    assign weight_at = weights_of;
    assign in_list = 0;
    assign stored = 0;
    unroll_ram #(.W(OB), .A(XA)) operands(.clk(clk), .ra(xk), .q(element), .we(x_we), .wa(x_wa), .d(x_wd));
  end endgenerate

  // ==== rows: (sum multiplier + half) >> shift, + bias, + result of another segment ==================================
  // flags of a row: adds, is final, belongs to the head, is the last of its group
  localparam R_BIAS = MB, R_SHIFT = R_BIAS + BB, R_FORMAT = R_SHIFT + SB, R_SLOT = R_FORMAT + FB,
             R_FLAGS = R_SLOT + SLOTS_A, RW = R_FLAGS + 4, MW = AB + MB;
  reg [RA-1:0] row_;
  wire [RA-1:0] row = sum_jump[2] ? (sum_jump[1:0] == IN_EARLY ? {RA{1'b0}} : sum_jump[1:0] == IN_HEAD ? RHEAD[RA-1:0]
    : RLATE[RA-1:0]) : row_;
  wire [RW-1:0] r;
  unroll_rom #(.W(RW), .D(RD), .A(RA), .FILE(F_ROWS)) row_table(.clk(clk), .a(row), .q(r));
  reg rv1, rv2, rv3, rv4, rv5, rv6, rv7, rv8, rv9;
  reg signed [AB-1:0] sum1;
  reg [RW-MB-1:0] r2, r3, r4, r5;                        // rest of the row's word
  reg [RW-MB-BB-1:0] r6;
  wire signed [MW-1:0] scaled;
  wire [31:0] partial;
  reg [31:0] partial4;
  unroll_multiply #(.A(AB), .B(MB)) multiply(.clk(clk), .a(sum1), .b(r[MB-1:0]), .p(scaled));
  reg signed [32:0] v5;
  reg signed [31:0] add5, v6;
  reg signed [32+FIELD_LEFT:0] shifted7;
  reg signed [15:0] field;
  reg signed [31+FIELD_LEFT:0] rounded8;
  reg [SLOTS_A-1:0] slot7, slot8, slot9;
  reg last7, last8;
  wire [SB-1:0] shift4 = r4[R_SHIFT-MB +: SB];
  wire adds4 = r4[R_FLAGS-MB];
  wire [FB-1:0] format6 = r6[R_FORMAT-MB-BB +: FB];
  wire final6 = r6[R_FLAGS-MB-BB+1], head6 = r6[R_FLAGS-MB-BB+2], last6 = r6[R_FLAGS-MB-BB+3];
  wire [SLOTS_A-1:0] slot6 = r6[R_SLOT-MB-BB +: SLOTS_A];
  unroll_ram #(.W(32), .A(SLOTS_A)) partials(.clk(clk), .ra(r2[R_SLOT-MB +: SLOTS_A]), .q(partial),
    .we(rv6 && !final6 && !head6), .wa(slot6), .d(v6));
  wire signed [31:0] bias4;
  generate if (BB == 32) begin : wide assign bias4 = r4[BB-1:0]; end
  else begin : narrow assign bias4 = {{(32-BB){r4[BB-1]}}, r4[BB-1:0]}; end endgenerate
  integer si;
  reg signed [63:0] shifted4, shifted6;
  always @* begin
    shifted4 = 0;
    for (si = 0; si < (1 << SB); si = si + 1)
      if (shift4 == si) shifted4 = half_shifted({{(64-MW){scaled[MW-1]}}, scaled}, ROW_SHIFTS[8*si +: 8]);
    shifted6 = 0;
    for (si = 0; si < (1 << FB); si = si + 1)
      if (format6 == si) shifted6 = half_shifted({{32{v6[31]}}, v6}, FORMATS[8*si +: 8]);
  end
  reg group_made;
  always @(posedge clk) begin
    if (sum_valid) row_ <= row + 1'b1;
    rv1 <= sum_valid;
    sum1 <= sum;
    rv2 <= rv1;
    r2 <= r[RW-1:MB];
    rv3 <= rv2;
    r3 <= r2;
    rv4 <= rv3;
    r4 <= r3;
    partial4 <= partial;
    rv5 <= rv4;
    r5 <= r4;
    v5 <= shifted4[32:0];
    add5 <= bias4 + (adds4 ? $signed(partial4) : 32'sd0);
    rv6 <= rv5;
    r6 <= r5[RW-MB-1:BB];
    v6 <= $signed(v5[32:1]) + add5 + $signed({1'b0, v5[0]});
    rv7 <= rv6 && final6;
    shifted7 <= shifted6;
    slot7 <= slot6;
    last7 <= last6;
    rv8 <= rv7;
    rounded8 <= (shifted7 >>> 1) + $signed({1'b0, shifted7[0]});
    slot8 <= slot7;
    last8 <= last7;
    rv9 <= rv8;
    field <= saturated(rounded8);
    slot9 <= slot8;
    group_made <= rv8 && last8;
    if (reset) {rv1, rv2, rv3, rv4, rv5, rv6, rv7, rv8, rv9, group_made} <= 0;
  end

  // ==== pointwise
  // =======================================================================================================
  // A word of the program is for one unit: r = narrow(align(a b) +- align(c)), or a function of c. A unit begins at
  // each round of `interval` words; a word of stage s is for the unit that began s rounds ago.
  localparam W_A = 0, W_AI = 2, W_B = W_AI + IB, W_BI = W_B + 2, W_C = W_BI + IB, W_CI = W_C + 2, W_IMM = W_CI + IB,
             W_FLAGS = W_IMM + 16, W_STAGE = W_FLAGS + 10, W_TO = W_STAGE + 4, W_P = W_TO + TB, W_CS = W_P + PB,
             W_O = W_CS + CB, W_LEFT = W_O + OUB, W_READ = W_LEFT + 3, W_WRITE = W_READ + STA, W_EVEN = W_WRITE + STA,
             W_ODD = W_EVEN + XA, WW = W_ODD + XA;
  localparam GW = 2*UPA + 2*UO + 1;
  reg [UPA-1:0] j, interval, base;
  reg [RB-1:0] round, round1;
  reg [(1<<RB)-1:0] alive, alive1;
  reg [UO-1:0] begun;
  reg [GA-1:0] group;
  reg [1:0] group_known;
  reg [NB:0] waiting;
  reg pparity, chosen;                            // a program was chosen since the reset
  wire [GW-1:0] g;
  unroll_rom #(.W(GW), .D(GROUPS), .A(GA), .FILE(F_GROUPS)) groups(.clk(clk), .a(group), .q(g));
  wire [UPA-1:0] g_base = g[0 +: UPA], g_interval = g[UPA +: UPA];
  wire [UO-1:0] g_units = g[2*UPA +: UO], g_first = g[2*UPA+UO +: UO];
  wire g_last = g[2*UPA+2*UO];
  wire round_ends = j == interval;
  wire same = group_known[1] && chosen && g_base == base;
  wire begins = round_ends && waiting != 0 && same;
  wire last_unit = begins && begun == g_units;
  // per unit: first of a sequence, parity, last of the group, index in the vector
  localparam UW = UO + 3;
  reg u_we;
  reg [UW-1:0] u_d;
  wire [UW-1:0] u;
  wire [WW-1:0] w;
  reg [WW-1:0] w1, w3;
  reg vw2, vw3;
  unroll_rom #(.W(WW), .D(UPD), .A(UPA), .FILE(F_WORDS)) words(.clk(clk), .a(base + j), .q(w));
  wire [RB-1:0] of_unit = round1 - w[W_STAGE +: RB];
  unroll_ram #(.W(UW), .A(RB)) units(.clk(clk), .ra(of_unit), .q(u), .we(u_we), .wa(round), .d(u_d));
  always @(posedge clk) begin
    j <= round_ends ? {UPA{1'b0}} : j + 1'b1;
    u_we <= 0;
    if (round_ends) begin
      round <= round + 1'b1;
      alive <= {alive[(1<<RB)-2:0], begins};
      u_we <= begins;
      u_d <= {g_first + begun, last_unit, pparity, starts[pparity]};
      if (begins) begun <= last_unit ? {UO{1'b0}} : begun + 1'b1;
    end
    group_known <= {group_known[0], 1'b1};
    if (last_unit) begin
      group <= g_last ? {GA{1'b0}} : group + 1'b1;
      group_known <= 0;
      if (g_last) pparity <= !pparity;
    end
    waiting <= waiting + group_made - last_unit;
    if (round_ends && !begins && alive == 0 && waiting != 0 && group_known[1]) begin // another layer's program
      base <= g_base;
      interval <= g_interval;
      chosen <= 1;
    end
    round1 <= round;
    alive1 <= alive;
    if (reset) begin
      j <= 0;
      interval <= 0;
      base <= 0;
      chosen <= 0;
      round <= 0;
      alive <= 0;
      alive1 <= 0;
      begun <= 0;
      group <= 0;
      group_known <= 0;
      waiting <= 0;
      pparity <= 0;
      u_we <= 0;
    end
  end
  // clock 1: the word is available; 2: its unit; 3: addresses; 4: values; 5: operands
  reg [UW-1:0] u3;
  reg [RB-1:0] rot2;
  wire [UO-1:0] place = u[3 +: UO];
  reg [SLOTS_A-1:0] b_slot, c_slot;
  reg [RB+TB-1:0] a_temp, b_temp, c_temp, to3;
  reg [STA-1:0] st_read, st_write3;
  reg [XA-1:0] x_write3;
  reg [VI+2:0] list3;                             // with skipping: list, first entry, first step of a sequence, bank
  reg [VB-1:0] v_read;
  wire signed [15:0] a_t, b_t, c_t, b_s, c_s, st_q, vec;
  localparam GB = RB + TB + STA + XA + 4, GOES = GB + VI + 3; // destination of a result: group ends, x, state, temporary
  reg [GOES-1:0] goes4, goes5, goes6, goes7, goes8, goes9, goes10, goes11, goes12, goes13, goes14, goes15, goes16;
  reg [WW-1:0] w4, w5;
  reg zero4;
  reg [15:0] result;
  wire t_we = goes16[0], st_we = goes16[1], h_we = goes16[2];
  wire [STA-1:0] st_wa = goes16[4 +: STA];
  wire [XA-1:0] h_wa = goes16[4+STA +: XA];
  wire [RB+TB-1:0] t_wa = goes16[4+STA+XA +: RB+TB];
  unroll_ram #(.W(16), .A(SLOTS_A)) fields_b(.clk(clk), .ra(b_slot), .q(b_s), .we(rv9), .wa(slot9), .d(field));
  unroll_ram #(.W(16), .A(SLOTS_A)) fields_c(.clk(clk), .ra(c_slot), .q(c_s), .we(rv9), .wa(slot9), .d(field));
  unroll_ram #(.W(16), .A(RB+TB)) temps_a(.clk(clk), .ra(a_temp), .q(a_t), .we(t_we), .wa(t_wa), .d(result));
  unroll_ram #(.W(16), .A(RB+TB)) temps_b(.clk(clk), .ra(b_temp), .q(b_t), .we(t_we), .wa(t_wa), .d(result));
  unroll_ram #(.W(16), .A(RB+TB)) temps_c(.clk(clk), .ra(c_temp), .q(c_t), .we(t_we), .wa(t_wa), .d(result));
  unroll_ram #(.W(16), .A(STA)) states(.clk(clk), .ra(st_read), .q(st_q), .we(st_we), .wa(st_wa), .d(result));
  generate if (F_VECTORS != "") begin : has_vectors
    unroll_rom #(.W(16), .D(1<<VB), .A(VB), .FILE(F_VECTORS)) vectors(.clk(clk), .a(v_read), .q(vec));
  end else begin : no_vectors assign vec = 0; end endgenerate

  localparam TANH = 2; // 1: sigmoid
  // flags: kind 2, minus 1, limit 2 (1: minimum, 2: maximum with c), to temporary, state, x, last of a unit, zero c
  wire [15:0] imm4 = w4[W_IMM +: 16];
  wire [1:0] a_from = w4[W_A +: 2], b_from = w4[W_B +: 2], c_from = w4[W_C +: 2];
  wire signed [15:0] state4 = zero4 ? 16'sd0 : st_q;
  wire signed [15:0] a4 = a_from == 0 ? a_t : a_from == 1 ? imm4 : a_from == 2 ? vec : 16'sd1;
  wire signed [15:0] b4 = b_from == 0 ? b_s : b_from == 1 ? b_t : b_from == 2 ? state4 : 16'sd1;
  wire signed [15:0] c4 = w4[W_FLAGS+9] ? 16'sd0 : c_from == 0 ? c_s : c_from == 1 ? c_t : c_from == 2 ? state4 : imm4;
  reg signed [15:0] a5, b5, c5, c6;
  reg signed [31:0] p6;
  reg signed [32:0] pt7, ct7;
  reg signed [63:0] pt6, ct6, st9;
  reg signed [32+LEFT:0] st10;
  reg signed [31:0] p8, c8, s9;
  reg [2+1+2+OUB+3-1:0] m6, m7, m8, m9, m10;      // left, out shift, limit, minus, kind
  reg [3:0] m11, m12, m13, m14, m15;
  reg signed [15:0] c7, c8k, c9, c10, c11, c12, fn9, r12, r13, r14, r15;
  reg signed [31+LEFT:0] r11;
  reg [14:0] magnitude10;
  reg sign10, sign11, sign12, sign13, sign14, sign15;
  reg [20:0] argument11;
  reg [11:0] part12, part13;
  wire [26:0] table12;
  reg [26:0] table13;
  reg [16:0] low14, half15;
  reg [22:0] product14;
  unroll_rom #(.W(27), .D(512), .A(9), .FILE(F_TABLE)) table_(.clk(clk), .a(argument11[20:12]), .q(table12));
  // With h = 2^17 (sigmoid |x| - 1/2): tanh is +-((h + 1) >> 1), sigmoid 2^14 +- ((h + 2) >> 2). With ~h for -h - 1,
  // each is a single sum.
  wire is_tanh15 = m15[1:0] == TANH;
  wire signed [17:0] sum15 = ({1'b0, half15} ^ {18{sign15}}) + (is_tanh15 ? 18'd1 : 18'd65538);
  wire most15 = half15[16] || &half15[15:1];
  wire [15:0] function15 = is_tanh15 ? (half15[16] || &half15[15:0] ? {sign15, {14{!sign15}}, 1'b1} : sum15[16:1])
    : most15 && !sign15 ? 16'd32767 : sum15[17:2];
  wire signed [15:0] limited12 = m12[2] ? (r12 < c12 ? r12 : c12) : m12[3] ? (r12 > c12 ? r12 : c12) : r12;
  reg [PB-1:0] ps6;
  reg [CB-1:0] cs6;
  integer pi;
  always @* begin
    pt6 = 0;
    for (pi = 0; pi < (1 << PB); pi = pi + 1)
      if (ps6 == pi) pt6 = half_shifted({{32{p6[31]}}, p6}, P_SHIFTS[8*pi +: 8]);
    ct6 = 0;
    for (pi = 0; pi < (1 << CB); pi = pi + 1)
      if (cs6 == pi) ct6 = half_shifted({{48{c6[15]}}, c6}, C_SHIFTS[8*pi +: 8]);
    st9 = 0;
    for (pi = 0; pi < (1 << OUB); pi = pi + 1)
      if (m9[5 +: OUB] == pi) st9 = half_shifted({{32{s9[31]}}, s9}, OUT_SHIFTS[8*pi +: 8]);
  end
  always @(posedge clk) begin
    // 1, 2
    vw2 <= (w[W_FLAGS+5] | w[W_FLAGS+6] | w[W_FLAGS+7]) && alive1[w[W_STAGE +: RB]];
    w1 <= w;
    rot2 <= of_unit;
    // 3
    w3 <= w1;
    vw3 <= vw2;
    zero4 <= u3[0];
    u3 <= u;
    b_slot <= w1[W_BI +: IB] + place;
    c_slot <= w1[W_CI +: IB] + place;
    a_temp <= {w1[W_AI +: TB], rot2};
    b_temp <= {w1[W_BI +: TB], rot2};
    c_temp <= {w1[W_CI +: TB], rot2};
    v_read <= w1[W_AI +: IB] + place;
    st_read <= w1[W_READ +: STA] + place;
    st_write3 <= w1[W_WRITE +: STA] + place;
    x_write3 <= (u[1] && !DELTA ? w1[W_ODD +: XA] : w1[W_EVEN +: XA]) + place;
    list3 <= {w1[W_ODD +: VI], place == 0, u[0], u[1]};
    to3 <= {w1[W_TO +: TB], rot2};
    // 4
    w4 <= w3;
    goes4 <= {DELTA ? list3 : {(VI+3){1'b0}}, to3, x_write3, st_write3, vw3 && w3[W_FLAGS+8] && u3[2], vw3 && w3[W_FLAGS+7], vw3 && w3[W_FLAGS+6],
      vw3 && w3[W_FLAGS+5]};
    // 5
    w5 <= w4;
    a5 <= a4;
    b5 <= b4;
    c5 <= c4;
    goes5 <= goes4;
    // 6: the product
    p6 <= a5 * b5;
    c6 <= c5;
    ps6 <= w5[W_P +: PB];
    cs6 <= w5[W_CS +: CB];
    m6 <= {w5[W_LEFT +: 3], w5[W_O +: OUB], w5[W_FLAGS+3 +: 2], w5[W_FLAGS+2], w5[W_FLAGS +: 2]};
    goes6 <= goes5;
    // 7, 8: both in the same format
    pt7 <= pt6;
    ct7 <= ct6;
    c7 <= c6;
    m7 <= m6;
    goes7 <= goes6;
    p8 <= (pt7 >>> 1) + $signed({1'b0, pt7[0]});
    c8 <= (ct7 >>> 1) + $signed({1'b0, ct7[0]});
    c8k <= c7;
    m8 <= m7;
    goes8 <= goes7;
    // 9: their sum, except that c is the limit of a limit word; 16 bits of a function's argument
    s9 <= m8[4:3] != 0 ? p8 : m8[2] ? p8 - c8 : p8 + c8;
    fn9 <= saturated({{32{c8[31]}}, c8});
    c9 <= c8k;
    m9 <= m8;
    goes9 <= goes8;
    // 10: and its magnitude
    st10 <= st9;
    sign10 <= fn9[15];
    magnitude10 <= !fn9[15] ? fn9[14:0] : fn9[14:0] == 0 ? 15'd32767 : -fn9[14:0];
    c10 <= c9;
    m10 <= m9;
    goes10 <= goes9;
    // 11
    r11 <= (st10 >>> 1) + $signed({1'b0, st10[0]});
    argument11 <= {6'd0, magnitude10} << m10[5+OUB +: 3];
    sign11 <= sign10;
    c11 <= c10;
    m11 <= {m10[4:3], m10[1:0]};
    goes11 <= goes10;
    // 12: the value, the table
    r12 <= saturated(r11);
    part12 <= argument11[11:0];
    sign12 <= sign11;
    c12 <= c11;
    m12 <= m11;
    goes12 <= goes11;
    // 13: a register after the memory: combined with the multiplier, it would be the slowest path
    r13 <= USES_LIMITS ? limited12 : r12;
    table13 <= table12;
    part13 <= part12;
    sign13 <= sign12;
    m13 <= m12;
    goes13 <= goes12;
    // 14: interpolation between two points of the table
    r14 <= r13;
    low14 <= {1'b0, table13[15:0]};
    product14 <= table13[26:16] * part13;
    sign14 <= sign13;
    m14 <= m13;
    goes14 <= goes13;
    // 15
    r15 <= r14;
    half15 <= low14 + product14[22:12] + product14[11];
    sign15 <= sign14;
    m15 <= m14;
    goes15 <= goes14;
    // 16
    result <= m15[1:0] == 0 ? r15 : function15;
    goes16 <= goes15;
    if (reset) begin
      vw2 <= 0;
      vw3 <= 0;
      goes4[3:0] <= 0;
      goes5[3:0] <= 0;
      goes6[3:0] <= 0;
      goes7[3:0] <= 0;
      goes8[3:0] <= 0;
      goes9[3:0] <= 0;
      goes10[3:0] <= 0;
      goes11[3:0] <= 0;
      goes12[3:0] <= 0;
      goes13[3:0] <= 0;
      goes14[3:0] <= 0;
      goes15[3:0] <= 0;
      goes16[3:0] <= 0;
    end
  end

  // ==== ends: x in, y out
  // ===============================================================================================
  // x goes to one of two banks while the lanes read the other. Results of units have priority at the port.
  reg done, done2, done3, done4, done5, last2, last3, last4; // a list is complete 4 clocks after the value arrives
  assign group_done = DELTA ? done5 : done;
  reg [XA-1:0] xw;
  reg fresh, x_last;
  reg x_last_bank;
  wire xi_valid, xi_first, xi_ready;
  wire [15:0] xi_data;
  assign xi_ready = !x_full[writing] && !h_we
    && !(DELTA ? x_last || last2 || last3 || last4 : x_last && x_last_bank == writing);
  wire xin = xi_valid && xi_ready;
  wire x_complete = xin && (xw == X - 1 || (TOKENS != 0 && !EMBEDS));
  generate if (EMBEDS) begin : embeds
    // A token becomes the X values of its row; an invalid one becomes zeros.
    reg running, token_first, found;
    reg [31:0] at_row;
    reg [15:0] left;
    wire [15:0] number;
    unroll_rom #(.W(16), .D((TOKENS + 1) * X), .A(32), .FILE(F_EMBEDDING)) embedding(.clk(clk),
      .a(xin ? at_row + 1 : at_row), .q(number));
    assign x_ready = !running;
    assign xi_valid = running && found;
    assign xi_first = token_first;
    assign xi_data = number;
    always @(posedge clk) begin
      found <= running;
      if (x_valid && x_ready) begin
        running <= 1;
        token_first <= x_first;
        at_row <= (x_data >= TOKENS ? TOKENS : x_data) * X;
        found <= 0;
        left <= X - 1;
      end
      if (xin) begin
        at_row <= at_row + 1;
        left <= left - 1'b1;
        if (left == 0) begin
          running <= 0;
          found <= 0;
        end
      end
      if (reset) begin
        running <= 0;
        found <= 0;
      end
    end
  end else begin : direct
    assign x_ready = xi_ready;
    assign xi_valid = x_valid;
    assign xi_first = x_first;
    assign xi_data = x_data;
  end endgenerate
  always @(posedge clk) begin
    done <= goes16[3];
    {done2, done3, done4, done5} <= {done, done2, done3, done4};
    {last2, last3, last4} <= {x_last, last2, last3};
    d_valid <= h_we | (xin && !(TOKENS != 0 && !EMBEDS));
    {d_id, d_first, d_start, d_bank} <= h_we ? goes16[GB +: VI+3]
      : {{VI{1'b0}}, xw == 0, xw == 0 ? xi_first | fresh : x_starts[writing], writing};
    x_we <= h_we | (xin && !(TOKENS != 0 && !EMBEDS));
    x_wa <= h_we ? h_wa : (writing && !DELTA ? BANK[XA-1:0] : {XA{1'b0}}) + xw;
    x_wd <= narrowed(h_we ? result : xi_data);
    x_last <= x_complete;
    if (!DELTA || x_complete) x_last_bank <= writing;
    if (xin) begin
      xw <= x_complete ? {XA{1'b0}} : xw + 1'b1;
      if (xw == 0) begin
        x_starts[writing] <= xi_first | fresh;
        token[writing] <= x_data >= TOKENS ? TOKENS[15:0] : x_data;
        fresh <= 0;
      end
      if (x_complete) writing <= !writing;
    end
    if (ends && c_frees) x_full[parity] <= 0;
    if (DELTA ? last4 : x_last) x_full[x_last_bank] <= 1;
    if (reset) begin
      {done, done2, done3, done4, done5, last2, last3, last4} <= 0;
      x_we <= 0;
      d_valid <= 0;
      x_last <= 0;
      xw <= 0;
      writing <= 0;
      x_full <= 0;
      fresh <= 1;
    end
  end

  wire made = rv6 && head6;
  // The class: each value is compared with the previous value and with the best so far, which the previous value may
  // become in this clock. The next clock selects between the two results, so that no comparison precedes an enable.
  reg signed [31:0] best, v7;
  reg [15:0] index, index7, best_index;
  reg some, made7, last_made7, first7, above_best7, above_v7, replaced;
  wire better = first7 || (replaced ? above_v7 : above_best7);
  reg chosen_class;                               // best_index covers all rows
  wire y_taken;
  wire [QA:0] reserved = !(ends && c_head) ? 0 : CLASS ? c_ends : c_rows + 1'b1;
  unroll_queue #(.W(33), .A(QA)) queue(.clk(clk), .rst(reset), .we(CLASS ? chosen_class : made),
    .d(CLASS ? {1'b1, 16'd0, best_index} : {last6, v6}), .valid(y_valid), .ready(y_ready), .data({y_last, y_data}),
    .taken(y_taken));
  always @(posedge clk) begin
    y_free <= y_free - reserved + y_taken;
    made7 <= made;
    last_made7 <= last6;
    first7 <= !some;
    v7 <= v6;
    index7 <= index;
    above_best7 <= v6 > best;
    above_v7 <= v6 > v7;
    replaced <= made7 && better;
    chosen_class <= made7 && last_made7;
    if (made) begin
      index <= last6 ? 16'd0 : index + 1'b1;
      some <= !last6;
    end
    if (made7 && better) begin
      best <= v7;
      best_index <= index7;
    end
    if (reset) begin
      y_free <= (1 << QA) - 1;
      index <= 0;
      some <= 0;
      made7 <= 0;
      chosen_class <= 0;
    end
  end
endmodule
`default_nettype wire
