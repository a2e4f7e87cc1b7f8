class Unroll < Formula
  desc "Train and run recurrent networks from the command-line, C or Python"
  homepage "https://unroll.example.org"
  url "https://unroll.example.org/unroll-0.2.0.tar.gz"
  sha256 "SHA256"
  license "MIT"

  depends_on "cmake" => :build
  depends_on "jansson"
  depends_on "libarchive"
  depends_on :linux
  depends_on "zlib"

  def install
    system "cmake", "-S", ".", "-B", "build", "-DBUILD_SHARED_LIBS=ON", *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/unroll version")
    (testpath/"wave.csv").write "t,y\n" + (1..200).map { |i| "#{i},#{Math.sin(i * 0.3)}\n" }.join
    system bin/"unroll", "train", "wave.csv", "--steps", "5", "--hidden", "4", "--out", "run"
    assert_path_exists testpath/"run/model.safetensors"
  end
end
