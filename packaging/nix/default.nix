# nix-build packaging/nix, in a checkout. Not evaluated yet: no Nix was at hand.
{ pkgs ? import <nixpkgs> { } }:
pkgs.stdenv.mkDerivation {
  pname = "unroll";
  version = "0.2.0";
  src = pkgs.lib.cleanSource ../..;
  nativeBuildInputs = [ pkgs.cmake pkgs.ninja ];
  buildInputs = [ pkgs.jansson pkgs.libarchive pkgs.zlib ];
  cmakeFlags = [ "-DBUILD_SHARED_LIBS=ON" ];
  meta = {
    description = "Train and run recurrent networks from the command line or C";
    license = pkgs.lib.licenses.mit;
    platforms = [ "x86_64-linux" "aarch64-linux" ];
    mainProgram = "unroll";
  };
}
