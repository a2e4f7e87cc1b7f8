// A program in C++ with unroll.hpp (tests/package/test_hpp.sh): trains, streams, saves, and gets an exception.
#include "unroll.hpp"

#include <cstdio>
#include <cstring>

int main()
{
    int failed = 0;
    auto expect = [&](bool holds, const char *what) {
        if (!holds)
            std::printf("FAILED %s\n", what), failed++;
    };
    unroll_model_config network = unroll_model_config_default();
    network.cell = "gru", network.input = 3, network.hidden = 8, network.output = 2, network.loss = "mse";
    unroll::Model model(network, 7);

    unroll_session_config training = unroll_session_config_default();
    training.mode = UNROLL_TRAIN, training.steps = 5, training.rows = 2;
    const std::vector<float> x(5 * 2 * 3, 0.5f), y(5 * 2 * 2, 0.25f);
    unroll_batch batch = {};
    batch.size = sizeof batch, batch.inputs = x.data(), batch.target_values = y.data();
    {
        unroll::Session session(model, training);
        const double first = session.step(batch, unroll_hyperparameters_default("adam")).loss;
        for (int i = 0; i < 50; i++) session.step(batch, unroll_hyperparameters_default("adam"));
        expect(session.step(batch, unroll_hyperparameters_default("adam")).loss < first / 2, "the loss falls");
        expect(session.read("z").size() == y.size(), "all outputs are read");
    }
    model.save("hpp.safetensors");
    unroll::Model loaded = unroll::Model::load("hpp.safetensors");
    expect(loaded.outputs() == 2 && loaded.parameters().size() == model.parameters().size(), "the model is loaded");

    unroll::Stream stream(loaded), moved = std::move(stream);
    const std::vector<float> frame(3, 0.5f), one = moved.step(frame);
    const std::vector<char> state = moved.save();
    const std::vector<float> two = moved.step(frame);
    moved.load(state);
    expect(one != two && moved.step(frame) == two, "a saved state continues alike");
    try {
        moved.step(std::vector<float>(4));
        expect(false, "a frame of another width is refused");
    } catch (const std::invalid_argument &error) {
        expect(std::strstr(error.what(), "1 x 3 inputs, not 4") != nullptr, error.what());
    }
    try {
        unroll::Model::load("no such file");
        expect(false, "a missing file is an error");
    } catch (const unroll::Error &error) {
        expect(error.status() == UNROLL_DATA && std::strstr(error.what(), "no such file") != nullptr, error.what());
    }
    expect(unroll::list(UNROLL_LIST_CELLS).size() > 8, "cells are listed");
    return failed;
}
