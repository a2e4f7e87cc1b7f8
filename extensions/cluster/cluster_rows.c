/* The rows that the extension adds to the tables of the core. */
#include "base/extension.h"
#include "comm/transport.h"
#include "extensions/cluster/comm/mpi_abi.h"
#include "extensions/cluster/compress/compress.h"
#include "extensions/cluster/devices/several.h"
#include "extensions/cluster/planner/planner.h"
#include "extensions/cluster/policies/policy.h"

static unroll_status read_asked(const char *sync, const char *compress, struct exchange_asked *asked)
{
    const struct policy *policy;
    const struct compressor *compressor;
    struct sync_options options;
    double level;
    TRY(policy_read(sync, &policy, &options));
    TRY(compressor_read(compress, &compressor, &level));
    *asked = (struct exchange_asked){policy->name, compressor ? compressor->name : "none",
                                     policy_is_plans(policy, compress)};
    return UNROLL_OK;
}

static const struct transport_row mpi = {"mpi", comm_mpi_open};
static const struct world_row ucx = {"ucx", ucx_address, ucx_open};
static const struct planner_row planner = {"planner", planner_choose};
static const struct exchange_row workers = {.name = "workers",
                                            .sync_name = sync_name,
                                            .compressor_name = compressor_name,
                                            .read = read_asked,
                                            .bytes = sync_bytes,
                                            .open = workers_open,
                                            .join = workers_join,
                                            .close = workers_close,
                                            .enter_mean = workers_enter_mean,
                                            .leave_mean = workers_leave_mean,
                                            .resume = workers_resume};

const struct extension_row extension_cluster[] = {{"transport", &mpi},
                                                  {"world", &ucx},
                                                  {"exchange", &workers},
                                                  {"planner", &planner},
                                                  {"list of devices", &device_several},
                                                  {NULL, NULL}};
