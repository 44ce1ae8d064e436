//! The nginx driver of the `ngx_http_ffi_client` engine, as a dynamic module.
//!
//! A tour, from the outside in:
//!
//! - `module` is what nginx loads: one http module and its life in each process.
//! - `conf` holds the directives; `lua` finds ngx_lua's functions and the values of its directives.
//! - [`ffi`] are the functions Lua calls, over the C types of [`abi`].
//! - `exchange` says what each call means to the engine, `message` puts it in the engine's terms,
//!   `result` writes the answers, `asking` is what Lua is asked for meanwhile.
//! - `worker` owns the engine and carries out its orders, `drive` moves bytes between it and the
//!   sockets, `socket` and `timer` are nginx's side of both; `names` asks nginx's resolver, `system`
//!   is what there is without one.
//! - `owner` ends a request's exchanges with the request, `wait` lets a coroutine wait for one.
//! - `tracing` finds out who is traced, `log` writes to nginx's log.
//!
//! This is the only crate that names nginx or follows a raw pointer. It has no opinion on HTTP:
//! whatever could be decided without nginx is decided in the engine, where it can be tested
//! without nginx.

pub mod abi;
mod asking;
mod conf;
mod drive;
mod exchange;
pub mod ffi;
mod log;
mod lua;
mod message;
pub mod module;
mod names;
mod owner;
mod result;
mod socket;
mod stats;
mod system;
mod timer;
mod tracing;
mod wait;
mod worker;
