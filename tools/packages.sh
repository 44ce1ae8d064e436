# Debian packages, for tools/setup: which are missing, and how to get them without touching an nginx that is there.
# Sourced by bash; uses $BUILD, say and die of its caller.

# The nginx that the module is built for and tested with, from one and the same revision of Debian's source.
NGINX_PACKAGES=(nginx libnginx-mod-http-ndk libnginx-mod-http-lua lua-resty-core nginx-dev)

# The same with the packages of theirs that only they need, to be unpacked ...
NGINX_FILES=("${NGINX_PACKAGES[@]}" lua-resty-lrucache libluajit2-5.1-2 libluajit2-5.1-common)
# ... and what the unpacked ones need to be configured and to run.
NGINX_LIBRARIES=(libpcre2-dev libpcre3 libssl-dev zlib1g-dev)

POLICY=/usr/sbin/policy-rc.d
MARK='# Written by tools/setup for the time of an installation.'

SUDO=
[ "$(id -u)" = 0 ] || SUDO=sudo

# Prints those of its arguments that are not installed.
missing() {
    local package installed
    installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p') || true
    for package; do
        grep -qxF -- "$package" <<<"$installed" || echo "$package"
    done
}

apt_get() {
    $SUDO env DEBIAN_FRONTEND=noninteractive NEEDRESTART_SUSPEND=1 apt-get -qy \
        -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@"
}

# Runs a command with its output in build/setup.log; tells how far it is.
logged() {
    local log=$BUILD/setup.log
    "$@" 2>&1 </dev/null | tee -a "$log" | progress && return
    tail -n 20 "$log" >&2
    die "this failed: $* (build/setup.log has all of its output)"
}

# Reads apt's output and shows how much there is to fetch and how many packages are done.
progress() {
    local line count=0
    while IFS= read -r line; do
        case $line in
            'Need to get '*) echo "    $line" ;;
            'Setting up '*) [ $((++count % 20)) != 0 ] || echo "    $count packages installed" ;;
        esac
    done
}

# Package lists are fetched at most once, and only when something is missing.
refreshed=
refresh() {
    [ -z "$refreshed" ] || return 0
    command -v apt-get >/dev/null || die "this machine has no apt-get: bring an nginx with NGINX_SOURCE_DIR (tools/setup says more)"
    [ -z "$SUDO" ] || command -v sudo >/dev/null || die "root or sudo is needed once, to install: $*"
    say "fetching the package lists"
    logged apt_get update
    refreshed=1
}

# While packages are configured no service may be started: Debian's nginx would take port 80.
hold_services() {
    release_services
    trap release_services EXIT
    trap 'exit 130' INT TERM HUP
    if [ -e "$POLICY" ]; then $SUDO mv "$POLICY" "$POLICY.before-setup"; fi
    printf '#!/bin/sh\n%s\nexit 101\n' "$MARK" | $SUDO tee "$POLICY" >/dev/null
    $SUDO chmod 755 "$POLICY"
}

# Also ends what a run that was killed left behind.
release_services() {
    if grep -qsxF "$MARK" "$POLICY"; then $SUDO rm -f "$POLICY"; fi
    if [ -e "$POLICY.before-setup" ]; then $SUDO mv "$POLICY.before-setup" "$POLICY"; fi
}

# Installs those of its arguments that are missing, NAME or NAME=VERSION.
install_missing() {
    local wanted package
    # Elsewhere than on Debian the user of an own nginx sees to the rest as well.
    command -v dpkg-query >/dev/null || return 0
    wanted=$(missing "${@%%=*}")
    [ -n "$wanted" ] || return 0
    refresh $wanted
    local exact=()
    for package; do
        if grep -qxF -- "${package%%=*}" <<<"$wanted"; then exact+=("$package"); fi
    done
    say "installing" $wanted
    hold_services
    # An installation that was cut off must be ended first; apt refuses to go on otherwise.
    [ -z "$(dpkg --audit)" ] || logged $SUDO env DEBIAN_FRONTEND=noninteractive dpkg --configure -a
    logged apt_get install --no-install-recommends "${exact[@]}"
    release_services
}

# Whether this machine has an nginx of any origin, installed or running.
has_nginx() {
    local name
    for name in nginx openresty; do
        command -v "$name" >/dev/null && return
        [ -n "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null | grep -x installed)" ] && return
    done
    grep -qsxE 'nginx|openresty' /proc/[0-9]*/comm
}

# The revision of Debian's nginx that apt offers. Only Debian has an nginx-dev, so another repository's nginx of a
# higher version is not taken for it.
offered_nginx() {
    apt-cache policy nginx-dev | sed -n 's/^ *Candidate: *\([0-9].*\)/\1/p' | grep . ||
        die "apt offers no nginx-dev: Debian 12 or later is needed, or NGINX_SOURCE_DIR (tools/setup says more)"
}

# Sees to Debian's nginx and to the packages given as arguments.
# Sets nginx_root (empty, or the folder that stands for /) and nginx_version.
provide_nginx() {
    nginx_root=
    if [ -n "$(missing "${NGINX_PACKAGES[@]}")" ]; then
        if [ -e "$BUILD/nginx-root/.version" ] || has_nginx; then
            nginx_root=$BUILD/nginx-root
            install_missing "$@" "${NGINX_LIBRARIES[@]}"
            unpack_nginx
            return
        fi
        refresh "${NGINX_PACKAGES[@]}"
        local version
        version=$(offered_nginx)
        install_missing "$@" "${NGINX_PACKAGES[@]/%nginx/nginx=$version}" "nginx-common=$version"
        # It was not there before, so nobody wants it at the next boot.
        $SUDO update-rc.d nginx disable >>"$BUILD/setup.log" 2>&1 || true
    else
        install_missing "$@"
    fi
    nginx_version=$(dpkg-query -W -f '${Version}' nginx-dev)
}

# Unpacks Debian's nginx under build/: nothing of it is installed, configured or started.
unpack_nginx() {
    local package archive packages=$BUILD/nginx-packages
    nginx_version=$(cat "$nginx_root/.version" 2>/dev/null) && return
    refresh "${NGINX_FILES[@]}"
    nginx_version=$(offered_nginx)
    say "this machine has an nginx already: unpacking Debian's nginx $nginx_version under build/"
    rm -rf "$packages" "$nginx_root"
    mkdir -p "$packages" "$nginx_root"
    for package in "${NGINX_FILES[@]}"; do
        case $package in nginx | nginx-dev) package+="=$nginx_version" ;; esac
        (cd "$packages" && logged apt-get -q -o APT::Sandbox::User=root download "$package")
    done
    for archive in "$packages"/*.deb; do
        dpkg-deb -x "$archive" "$nginx_root"
    done
    # Compiled into the binary; nginx makes the folders below it.
    [ -d /var/lib/nginx ] || $SUDO mkdir -p /var/lib/nginx
    echo "$nginx_version" >"$nginx_root/.version"
}
