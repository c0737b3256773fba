# SPDX-License-Identifier: GPL-2.0-or-later
#
# Formula for Homebrew, of tshark of Homebrew's own formula wireshark. Written from the formulas of others: never run. OWNER
# and the checksum are to be filled in; plugin/release prints the checksum.
class WiresharkSmcr < Formula
  desc "Dissector of SMC-R (RFC 7609) for Wireshark and tshark"
  homepage "https://github.com/OWNER/wireshark-smcr"
  url "https://github.com/OWNER/wireshark-smcr/releases/download/v1.0.0/wireshark-smcr-1.0.0.tar.xz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "GPL-2.0-or-later"

  depends_on "meson" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "glib"
  depends_on "wireshark"
  uses_from_macos "python"
  uses_from_macos "zlib"

  def install
    version = Utils.safe_popen_read("pkg-config", "--modversion", "wireshark").split(".").first(2).join(".")
    system "meson", "setup", "build", "-Dtests=false", "-Db_lto=true",
           "-Dplugindir=#{lib}/wireshark/plugins/#{version}/epan",
           "-Dprofile=#{share}/wireshark/profiles/SMC-R", "-Dextcapdir=none", *std_meson_args
    system "meson", "compile", "-C", "build", "smcr"
    system "meson", "install", "-C", "build", "--no-rebuild"
  end

  test do
    assert_match "smcr.so", shell_output("#{Formula["wireshark"].bin}/tshark -G plugins")
    assert_match version.to_s, shell_output("#{bin}/smcr-monitor --version")
  end
end
