// Unroll in a C++ program: objects own what the library allocates, errors are exceptions, and each thread steps its own
// stream, all of them with one packed copy of the weights.
//     embed [MODEL]       MODEL: one number in, one out, such as train_tiny saves; without it: an untrained one
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <thread>
#include <unroll_train.h>
#include <vector>

class Error : public std::runtime_error {
public:
    explicit Error(unroll_status status) : std::runtime_error(unroll_last_error()), status(status) {}
    unroll_status status;
};

static void check(unroll_status status)
{
    if (status != UNROLL_OK)
        throw Error(status);        // in the thread of the call, which has the message
}

// ---- ownership

struct Freed {
    void operator()(unroll_model *model) const { unroll_model_free(model); }
    void operator()(unroll_session *session) const { unroll_session_free(session); }
    void operator()(void *memory) const { std::free(memory); }
};
using Model = std::unique_ptr<unroll_model, Freed>;
using Session = std::unique_ptr<unroll_session, Freed>;
using Memory = std::unique_ptr<void, Freed>;

static Memory memory_of(std::size_t bytes)
{
    if (bytes == 0)
        throw Error(UNROLL_FAILURE);            // the library has printed why
    Memory memory(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
    if (!memory)
        throw std::bad_alloc();
    return memory;
}

static Model open_model(const char *path)
{
    unroll_model *model = nullptr;
    if (path) {
        check(unroll_model_load(path, &model));
    } else {
        unroll_model_config spec = unroll_model_config_default();
        spec.cell = "gru";
        spec.hidden = 24;
        spec.input = spec.output = 1;
        check(unroll_model_new(&spec, 1, &model));
    }
    return Model(model);
}

// Packed once and read by all streams, which it must outlive.
class Weights {
public:
    explicit Weights(const unroll_model *model)
    {
        std::size_t bytes = unroll_stream_weights_bytes(model, &config_);
        memory_ = memory_of(bytes);
        unroll_stream_weights *weights = nullptr;
        check(unroll_stream_weights_init(memory_.get(), bytes, model, &config_, &weights));
        config_.weights = weights;
    }
    const unroll_stream_config *config() const { return &config_; }

private:
    unroll_stream_config config_ = unroll_stream_config_default();
    Memory memory_;
};

class Stream {
public:
    Stream(const unroll_model *model, const Weights &weights) : bytes_(unroll_stream_bytes(model, weights.config()))
    {
        memory_ = memory_of(bytes_);
        check(unroll_stream_init(memory_.get(), bytes_, model, weights.config(), &stream_));
    }
    float operator()(float input)               // nothing below allocates, unless it throws
    {
        float output = 0;
        check(unroll_stream_step(stream_, NULL, &input, &output));
        return output;
    }

private:
    std::size_t bytes_;
    Memory memory_;
    unroll_stream *stream_ = nullptr;
};

// ---- the program

static std::vector<float> wave(int listener, int steps)
{
    std::vector<float> x(static_cast<std::size_t>(steps));
    for (int t = 0; t < steps; t++)
        x[static_cast<std::size_t>(t)] = static_cast<float>(0.7 * std::sin(0.2 * t + listener));
    return x;
}

// Runs the whole sequence at once.
static std::vector<float> whole(unroll_model *model, const std::vector<float> &x)
{
    unroll_session_config config = unroll_session_config_default();
    config.steps = static_cast<int>(x.size());
    unroll_session *opened = nullptr;
    check(unroll_session_new(model, &config, &opened));
    Session session(opened);
    unroll_batch batch = {};
    batch.size = sizeof batch;
    batch.inputs = x.data();
    check(unroll_session_forward(session.get(), &batch));
    std::vector<float> y(x.size());
    check(unroll_session_read(session.get(), "z", y.data(), y.size()));
    return y;
}

int main(int count, char *words[])
try {
    constexpr int listeners = 4, steps = 500;
    Model model = open_model(count > 1 ? words[1] : nullptr);
    Weights weights(model.get());
    std::vector<Stream> streams;
    std::vector<std::vector<float>> heard(listeners), answers(listeners);
    std::vector<std::thread> threads;

    for (int i = 0; i < listeners; i++) {
        auto n = static_cast<std::size_t>(i);
        streams.emplace_back(model.get(), weights);
        heard[n] = wave(i, steps);
        answers[n].resize(heard[n].size());
    }
    for (std::size_t i = 0; i < streams.size(); i++)
        threads.emplace_back([&, i] {
            for (std::size_t t = 0; t < heard[i].size(); t++)
                answers[i][t] = streams[i](heard[i][t]);
        });
    for (std::thread &thread : threads)
        thread.join();

    int same = 0;
    for (std::size_t i = 0; i < streams.size(); i++)
        same += whole(model.get(), heard[i]) == answers[i];
    std::printf("%d of %d threads: the answers of the whole sequence\n", same, listeners);

    try {
        streams[0](std::nanf(""));
    } catch (const Error &error) {
        std::printf("refused with status %d: %s\n", static_cast<int>(error.status), error.what());
    }
    return same == listeners ? 0 : 1;
} catch (const Error &error) {
    std::fprintf(stderr, "embed: %s\n", error.what());
    return error.status;
} catch (const std::exception &error) {
    std::fprintf(stderr, "embed: %s\n", error.what());
    return UNROLL_FAILURE;
}
