//! Finds llhttp, checks that its header agrees with `src/lib.rs`, and compiles or links it.
//!
//! Three places are tried in this order: the folder in `LLHTTP_SOURCE_DIR`, a system library known to pkg-config,
//! and the C files inside the locked package `libnghttp2-sys`. A folder that the user named is final; a system
//! library that does not fit is passed over.

use std::env;
use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};
use std::slice;

/// The variable that names a folder with `include/llhttp.h` and `src/{api,http,llhttp}.c`.
const SOURCE_DIR: &str = "LLHTTP_SOURCE_DIR";

/// The locked package that carries the C files, and where in it they are.
const CARRIER: &str = "libnghttp2-sys";
const INSIDE_CARRIER: &str = "nghttp2/third-party/llhttp";

/// What went wrong with one candidate, for the reader of the build log.
type Failure = Box<dyn Error>;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/layout.c");
    println!("cargo:rerun-if-changed=src/dispatch.c");
    println!("cargo:rerun-if-changed=Cargo.lock");
    println!("cargo:rerun-if-env-changed={SOURCE_DIR}");
    if env::var_os("DOCS_RS").is_some() {
        // No network there, and documentation needs no library: only the numbers that the crate shows.
        return tell_version(["9", "3", "0"]);
    }
    if let Err(why) = provide() {
        eprintln!("llhttp-sys: {why}");
        exit(1);
    }
}

/// Provides the library from the first place that has it.
fn provide() -> Result<(), Failure> {
    if let Some(dir) = env::var_os(SOURCE_DIR).filter(|dir| !dir.is_empty()) {
        let dir = PathBuf::from(dir);
        return compile(&dir)
            .map_err(|why| format!("{SOURCE_DIR}={}: {why}", dir.display()).into());
    }
    let system = match link_system() {
        Ok(()) => return Ok(()),
        Err(why) => why,
    };
    let locked = match find_locked().and_then(|dir| compile(&dir)) {
        Ok(()) => return Ok(()),
        Err(why) => why,
    };
    Err(format!(
        "no usable llhttp. Set {SOURCE_DIR} to a folder that holds include/llhttp.h and src/*.c of llhttp 9.3 \
         (a release of nodejs/llhttp), or let cargo fetch {CARRIER} once.\n\
         \x20 system library: {system}\n\
         \x20 locked package: {locked}"
    )
    .into())
}

/// Compiles the library from `dir`.
fn compile(dir: &Path) -> Result<(), Failure> {
    let include = dir.join("include");
    let header = include.join("llhttp.h");
    let sources = ["api.c", "http.c", "llhttp.c"].map(|file| dir.join("src").join(file));
    for file in sources.iter().chain([&header]) {
        if !file.is_file() {
            return Err(format!("{} is missing", file.display()).into());
        }
        println!("cargo:rerun-if-changed={}", file.display());
    }
    check_layout(slice::from_ref(&include), true)?;
    let mut library = c(&include);
    if can_choose() {
        library
            .objects(compile_twice(&include, &sources)?)
            .files(&sources[..2])
            .file("src/dispatch.c");
    } else {
        library.files(&sources);
    }
    library.try_compile("llhttp")?;
    tell(&include)
}

/// A compiler set up for llhttp's own files.
fn c(include: &Path) -> cc::Build {
    let mut build = cc::Build::new();
    build
        .include(include)
        // The parser is generated code: its warnings tell a reader of our build log nothing.
        .warnings(false)
        // Nobody outside the program calls it, so the compiler may inline its many small functions, and
        // another llhttp in the same process is never mistaken for this one.
        .flag_if_supported("-fvisibility=hidden")
        .force_frame_pointer(false);
    build
}

/// Whether `src/dispatch.c` can be compiled: it asks an x86-64 processor in the words of GCC and clang.
fn can_choose() -> bool {
    let x86_64 = env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|arch| arch == "x86_64");
    x86_64 && !cc::Build::new().get_compiler().is_like_msvc()
}

/// Compiles the state machine without and with SSE 4.2. The second is one file of all that runs while a
/// message is parsed, so that the compiler can inline the small functions between the machine and the
/// callbacks. Its functions have names of their own; what they do to a parser is the same.
fn compile_twice(include: &Path, sources: &[PathBuf; 3]) -> Result<Vec<PathBuf>, Failure> {
    let mut objects = c(include)
        .file(&sources[2])
        .define("llhttp__internal_execute", "llhttp__plain_execute")
        .try_compile_intermediates()?;
    let mut text = String::new();
    for source in sources {
        // The machine declares its callbacks with unsigned bytes.
        text += &renamed(&fs::read_to_string(source)?)
            .replace("const char* p,", "const unsigned char* p,")
            .replace("const char* endp)", "const unsigned char* endp)");
    }
    let copy = PathBuf::from(env::var_os("OUT_DIR").ok_or("not run by cargo")?).join("sse42.c");
    fs::write(&copy, text)?;
    objects.extend(
        c(include)
            .file(copy)
            .flag("-msse4.2")
            .try_compile_intermediates()?,
    );
    Ok(objects)
}

/// C text with `sse42` in the names of llhttp's functions: all names with two underscores but those of
/// types, and of the others those that are called or defined.
fn renamed(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    let mut rest = text;
    while let Some(at) = rest.find("llhttp_") {
        let (before, from) = rest.split_at(at);
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, after) = from.split_at(from.find(|c| !word(c)).unwrap_or(from.len()));
        let is_function = match name.strip_prefix("llhttp__") {
            Some(inner) => !matches!(inner, "internal_t" | "internal_s"),
            None => after.starts_with('('),
        };
        out += before;
        if is_function && !before.ends_with(word) {
            out += "llhttp_sse42";
            out += &name["llhttp".len()..];
        } else {
            out += name;
        }
        rest = after;
    }
    out + rest
}

/// Links the system's library if pkg-config knows one whose header fits.
fn link_system() -> Result<(), Failure> {
    let library = pkg_config::Config::new()
        .cargo_metadata(false)
        .probe("libllhttp")
        .map_err(|_| "pkg-config knows no libllhttp")?;
    let mut include = library.include_paths;
    if include.is_empty() {
        include.push(PathBuf::from("/usr/include"));
    }
    if let Err(why) = check_layout(&include, false) {
        let version = library.version;
        println!("cargo:warning=system libllhttp {version} passed over: {why}");
        return Err(format!("version {version}: {why}").into());
    }
    pkg_config::probe_library("libllhttp")?;
    let holder = include.iter().find(|dir| dir.join("llhttp.h").is_file());
    tell(holder.ok_or("llhttp.h is not in its include folder")?)
}

/// Compiles `src/layout.c`: static assertions that the header found declares what `src/lib.rs` declares, and the
/// table that the tests compare. Nothing refers to that table but the tests, so no program carries it.
fn check_layout(include: &[PathBuf], show_errors: bool) -> Result<(), Failure> {
    let result = cc::Build::new()
        .file("src/layout.c")
        .includes(include)
        .cargo_warnings(show_errors)
        .try_compile("llhttp_sys_layout");
    result.map_err(|why| {
        let why = why.to_string();
        // The rest is the command line, which says less than the compiler's own output.
        let brief = why.split(": \"").next().unwrap_or_default();
        format!("its llhttp.h is not that of llhttp 9.3, or the C compiler does not work ({brief})")
            .into()
    })
}

/// Tells the crate the version in the header, and dependent build scripts (`DEP_LLHTTP_INCLUDE`) the folder.
fn tell(include: &Path) -> Result<(), Failure> {
    let header = fs::read_to_string(include.join("llhttp.h"))?;
    let number = |part: &str| {
        let define = format!("#define LLHTTP_VERSION_{part} ");
        let found = header.lines().find_map(|line| line.strip_prefix(&define));
        found
            .map(str::trim)
            .ok_or_else(|| format!("llhttp.h lacks {define}"))
    };
    tell_version([number("MAJOR")?, number("MINOR")?, number("PATCH")?]);
    println!("cargo:include={}", include.display());
    Ok(())
}

/// Hands the version to `src/constants.rs`.
fn tell_version([major, minor, patch]: [&str; 3]) {
    println!("cargo:rustc-env=LLHTTP_VERSION_MAJOR={major}");
    println!("cargo:rustc-env=LLHTTP_VERSION_MINOR={minor}");
    println!("cargo:rustc-env=LLHTTP_VERSION_PATCH={patch}");
}

/// Asks cargo where the locked carrier package was unpacked, fetching it if need be.
///
/// Runs on this crate's own manifest and lock, whatever workspace is being built, so that nothing else is
/// downloaded. The target folder plays no part in `cargo metadata`. Not `--offline`: a machine that never
/// fetched the package must be able to; one that did reaches for no network.
fn find_locked() -> Result<PathBuf, Failure> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let manifest =
        Path::new(&env::var_os("CARGO_MANIFEST_DIR").ok_or("not run by cargo")?).join("Cargo.toml");
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--all-features",
            "--manifest-path",
        ])
        .arg(&manifest)
        .output()
        .map_err(|why| format!("cargo metadata did not start: {why}"))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(format!("cargo metadata failed: {}", text.trim()).into());
    }
    let json = String::from_utf8(output.stdout)?;
    manifest_paths(&json)
        .filter_map(|path| path.parent().map(Path::to_path_buf))
        .find(|dir| {
            dir.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with(CARRIER))
        })
        .map(|dir| dir.join(INSIDE_CARRIER))
        .ok_or_else(|| format!("cargo metadata does not list {CARRIER}").into())
}

/// Every `"manifest_path"` in the output of `cargo metadata`. The key occurs nowhere else in that format, which
/// spares a JSON parser in the build of every user.
fn manifest_paths(json: &str) -> impl Iterator<Item = PathBuf> + '_ {
    json.split("\"manifest_path\":\"").skip(1).map(|rest| {
        let mut path = String::new();
        let mut chars = rest.chars();
        while let Some(c) = chars.next() {
            match c {
                '"' => break,
                '\\' => path.extend(chars.next()),
                _ => path.push(c),
            }
        }
        PathBuf::from(path)
    })
}
