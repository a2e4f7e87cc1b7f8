/* unroll.hpp: Unroll for C++17: objects that free themselves, exceptions instead of statuses. Header only.
 *
 *     auto model = unroll::Model::load("model.safetensors");
 *     unroll::Stream stream(model);
 *     std::vector<float> frame(40);                      // zeros
 *     auto output = stream.step(frame);                  // one time step
 *     std::printf("%.4f %.4f\n", output[0], output[7]);
 *
 * Each class owns one object of the C interface and is movable; get() returns the C object for calls without a method.
 * Configurations are the structs of C: unroll_session_config_default(). A call that fails throws unroll::Error with the
 * message and the status. The rules of unroll.h on threads, ownership and lifetimes hold: models outlive sessions,
 * models and data sets outlive trainers.
 */
#ifndef UNROLL_HPP
#define UNROLL_HPP
#include "unroll_train.h"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace unroll {

/* The message of unroll_last_error() and the status of a failed call. */
class Error : public std::runtime_error {
public:
    explicit Error(unroll_status status) : std::runtime_error(unroll_last_error()), status_(status) {}
    unroll_status status() const noexcept { return status_; }

private:
    unroll_status status_;
};

/* Throws unroll::Error unless the status of a call is UNROLL_OK. */
inline void check(unroll_status status)
{
    if (status != UNROLL_OK)
        throw Error(status);
}

namespace detail {
template <class T, void (*Free)(T *)> struct Delete {
    void operator()(T *object) const noexcept { Free(object); }
};
template <class T, void (*Free)(T *)> using Handle = std::unique_ptr<T, Delete<T, Free>>;

/* A handle of what make(&object) makes. */
template <class H, class Make> H made(Make &&make)
{
    typename H::pointer object = nullptr;
    check(make(&object));
    return H(object);
}
/* A struct for a call that fills it. */
template <class T> T sized()
{
    T result = {};
    result.size = sizeof result;
    return result;
}
} // namespace detail

/* Returns the names of a list, such as UNROLL_LIST_CELLS. */
inline std::vector<std::string> list(unroll_list_kind kind)
{
    std::vector<std::string> names;
    auto entry = detail::sized<unroll_entry>();
    for (int i = 0; unroll_list(kind, i, &entry); i++) names.emplace_back(entry.name);
    return names;
}

class Model {
public:
    explicit Model(const unroll_model_config &config, uint64_t seed = 1)
        : model_(detail::made<Handle>([&](auto model) { return unroll_model_new(&config, seed, model); }))
    {
    }
    explicit Model(const unroll_network &network, uint64_t seed = 1)
        : model_(detail::made<Handle>([&](auto model) { return unroll_model_from_network(&network, seed, model); }))
    {
    }
    explicit Model(unroll_model *model) noexcept : model_(model) {} /* takes over the object */
    static Model load(const std::string &path)
    {
        return Model(detail::made<Handle>([&](auto model) { return unroll_model_load(path.c_str(), model); }));
    }
    static Model import(const std::string &path, unroll_import_config config = unroll_import_config_default())
    {
        return Model(detail::made<Handle>([&](auto model) { return unroll_model_import(path.c_str(), &config, model); }));
    }
    void save(const std::string &path) const { check(unroll_model_save(get(), path.c_str())); }
    void export_to(const std::string &path, const unroll_export_config &config) const
    {
        check(unroll_model_export(get(), path.c_str(), &config));
    }
    void run(const std::string &inputs, const std::string &outputs,
             unroll_run_config config = unroll_run_config_default())
    {
        check(unroll_model_run(get(), inputs.c_str(), outputs.c_str(), &config));
    }
    std::string sample(unroll_sample_config config = unroll_sample_config_default())
    {
        std::string text;
        auto append = [](void *to, const char *symbol) { return static_cast<std::string *>(to)->append(symbol), 0; };
        check(unroll_model_sample(get(), &config, append, &text));
        return text;
    }
    int outputs() const { return unroll_model_outputs(get()); }
    std::vector<unroll_parameter> parameters() const
    {
        const auto empty = detail::sized<unroll_parameter>();
        std::vector<unroll_parameter> all(static_cast<size_t>(unroll_model_parameters(get())), empty);
        for (size_t i = 0; i < all.size(); i++) check(unroll_model_parameter(get(), static_cast<int>(i), &all[i]));
        return all;
    }
    unroll_model *get() const noexcept { return model_.get(); }

private:
    using Handle = detail::Handle<unroll_model, unroll_model_free>;
    explicit Model(Handle model) noexcept : model_(std::move(model)) {}
    Handle model_;
};

class Stream {
public:
    explicit Stream(const Model &model, unroll_stream_config config = unroll_stream_config_default())
        : stream_(detail::made<Handle>([&](auto stream) { return unroll_stream_new(model.get(), &config, stream); })),
          rows_(static_cast<size_t>(config.rows))
    {
    }
    /* One step without allocation; arrays as of unroll_stream_step. */
    void step(const int32_t *tokens, const float *inputs, float *outputs)
    {
        check(unroll_stream_step(get(), tokens, inputs, outputs));
    }
    std::vector<float> step(const std::vector<float> &inputs)
    {
        std::vector<float> outputs(rows_ * static_cast<size_t>(unroll_stream_outputs(get())));
        if (inputs.size() != rows_ * static_cast<size_t>(unroll_stream_inputs(get())))
            throw std::invalid_argument("a step needs " + std::to_string(rows_) + " x " +
                                        std::to_string(unroll_stream_inputs(get())) + " inputs, not " +
                                        std::to_string(inputs.size()));
        step(nullptr, inputs.data(), outputs.data());
        return outputs;
    }
    void run(int steps, const int32_t *tokens, const float *inputs, float *outputs)
    {
        check(unroll_stream_run(get(), steps, tokens, inputs, outputs));
    }
    void reset(int row = -1) { check(unroll_stream_reset(get(), row)); }
    std::vector<char> save() const
    {
        std::vector<char> state(unroll_stream_state_bytes(get()));
        check(unroll_stream_save(get(), state.data(), state.size()));
        return state;
    }
    void load(const std::vector<char> &state) { check(unroll_stream_load(get(), state.data(), state.size())); }
    unroll_stream *get() const noexcept { return stream_.get(); }

private:
    using Handle = detail::Handle<unroll_stream, unroll_stream_free>;
    Handle stream_;
    size_t rows_;
};

class Session {
public:
    Session(Model &model, const unroll_session_config &config)
        : session_(detail::made<Handle>([&](auto session) { return unroll_session_new(model.get(), &config, session); }))
    {
    }
    void forward(const unroll_batch &batch) { check(unroll_session_forward(get(), &batch)); }
    void backward() { check(unroll_session_backward(get())); }
    unroll_result update(const unroll_hyperparameters &rates)
    {
        auto result = detail::sized<unroll_result>();
        check(unroll_session_update(get(), &rates, &result));
        return result;
    }
    unroll_result step(const unroll_batch &batch, const unroll_hyperparameters &rates)
    {
        auto result = detail::sized<unroll_result>();
        check(unroll_session_step(get(), &batch, &rates, &result));
        return result;
    }
    std::vector<float> read(const std::string &name) const
    {
        std::vector<float> values(unroll_session_count(get(), name.c_str()));
        check(unroll_session_read(get(), name.c_str(), values.data(), values.size()));
        return values;
    }
    void write(const std::string &name, const std::vector<float> &values)
    {
        check(unroll_session_write(get(), name.c_str(), values.data(), values.size()));
    }
    void reset() { check(unroll_session_reset(get())); }
    unroll_session *get() const noexcept { return session_.get(); }

private:
    using Handle = detail::Handle<unroll_session, unroll_session_free>;
    Handle session_;
};

class Dataset {
public:
    explicit Dataset(const std::string &path, unroll_dataset_config config = unroll_dataset_config_default())
        : data_(detail::made<Handle>([&](auto data) { return unroll_dataset_open(path.c_str(), &config, data); }))
    {
    }
    const char *notes() const { return unroll_dataset_notes(get()); }
    unroll_dataset *get() const noexcept { return data_.get(); }

private:
    using Handle = detail::Handle<unroll_dataset, unroll_dataset_free>;
    Handle data_;
};

class Trainer {
public:
    Trainer(Model &model, const Dataset &data, unroll_trainer_config config = unroll_trainer_config_default())
        : trainer_(detail::made<Handle>(
              [&](auto trainer) { return unroll_trainer_new(model.get(), data.get(), &config, trainer); }))
    {
    }
    unroll_progress step()
    {
        auto progress = detail::sized<unroll_progress>();
        check(unroll_trainer_step(get(), &progress));
        return progress;
    }
    unroll_evaluation validate()
    {
        auto found = detail::sized<unroll_evaluation>();
        check(unroll_trainer_validate(get(), &found));
        return found;
    }
    void save(const std::string &directory) { check(unroll_trainer_save(get(), directory.c_str())); }
    void load(const std::string &directory) { check(unroll_trainer_load(get(), directory.c_str())); }
    unroll_trainer *get() const noexcept { return trainer_.get(); }

private:
    using Handle = detail::Handle<unroll_trainer, unroll_trainer_free>;
    Handle trainer_;
};

} // namespace unroll
#endif
