//! `machine!` turns one table into a state enum, an event enum, a dispatcher,
//! compile-time proofs of every move, and the edge list that the pages in
//! `states/` are generated from. It knows nothing about HTTP.
//!
//! What the compiler refuses, naming the row:
//!
//! * a handler that moves to a state its row does not list ([`Edge`]),
//! * a row without a handler (`On`),
//! * a (state, event) pair that no section decides (non-exhaustive match),
//! * a pair decided twice ([`Decided`]).

/// Proof that the table has the row `Self + E => To`. Only `machine!` implements it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` may not move to `{To}` on `{E}`",
    label = "no such row in the transition table",
    note = "legal moves are the rows of `machine!` in this machine's table.rs"
)]
pub(crate) trait Edge<E, To> {}

/// The table decides about the pair `Self` and `E`. Deciding twice is two implementations, which
/// the compiler refuses by the names of both; an unreachable pattern would not name them.
#[allow(dead_code, reason = "that it can be implemented is the proof")]
pub(crate) trait Decided<E> {}

/// One legal move: state, event, next state. The state `*` stands for any.
pub type Move = (&'static str, &'static str, &'static str);

/// Everything a page about a machine needs, as plain text.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// States a slot may begin in.
    pub starts: &'static [&'static str],
    /// State names with their documentation, in table order.
    pub states: &'static [(&'static str, &'static str)],
    /// Event names with their documentation, in table order.
    pub events: &'static [(&'static str, &'static str)],
    /// Every move, in table order; `*` is any state.
    pub moves: &'static [Move],
    /// Late news: decided, and without effect.
    pub ignored: &'static [(&'static str, &'static str)],
    /// Facts that a correct driver cannot report in that state.
    pub never: &'static [(&'static str, &'static str)],
}

/// See the module documentation.
macro_rules! machine {
    (
        context $cx:ident;
        start  { $($start:ident),+ $(,)? }
        states { $($(#[doc = $sdoc:literal])* $state:ident),+ $(,)? }
        events { $($(#[doc = $edoc:literal])* $event:ident),+ $(,)? }
        table  { $($from:ident + $on:ident => $($to:ident)|+ ;)+ }
        always { $($any:ident => $any_to:ident ;)* }
        ignore { $($ig:ident: $($ig_ev:ident)|+ ;)* }
        never  { $($nv:ident: $($nv_ev:ident)|+ ;)* }
    ) => {
        /// The states of this machine; each carries its own struct.
        #[derive(Debug)]
        #[allow(dead_code, reason = "bare states carry nothing to be read")]
        // A tag of its own: with one hidden in a payload's niche, each move takes the payload apart.
        #[repr(u8)]
        pub(crate) enum State { $($(#[doc = $sdoc])* $state($state)),+ }

        /// The events of this machine; each carries its own struct.
        #[derive(Debug)]
        #[allow(dead_code, reason = "bare events carry nothing to be read")]
        #[repr(u8)]
        pub(crate) enum Event { $($(#[doc = $edoc])* $event($event)),+ }

        $(impl From<$state> for State {
            #[inline(always)]
            fn from(s: $state) -> State { State::$state(s) }
        })+
        $(impl From<$event> for Event {
            #[inline(always)]
            fn from(e: $event) -> Event { Event::$event(e) }
        })+
        $($(impl crate::machine::Edge<$on, $to> for $from {})+)+
        $(impl crate::machine::Decided<$on> for $from {})+
        $(impl<S> crate::machine::Decided<$any> for S {})*
        $($(impl crate::machine::Decided<$ig_ev> for $ig {})+)*
        $($(impl crate::machine::Decided<$nv_ev> for $nv {})+)*
        const _: () = { fn starts(s: State) { match s { $(State::$start(_) => {})+ _ => {} } } let _ = starts; };

        /// Which state, without what it carries.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum StateTag { $($state),+ }

        /// Which event, without what it carries.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum EventTag { $($event),+ }

        /// What state `Self` does with event `E`. Every row of the table needs one.
        #[diagnostic::on_unimplemented(
            message = "the table says `{Self}` handles `{E}`, but there is no handler",
            note = "write `impl On<{E}> for {Self}`, or delete the row"
        )]
        pub(crate) trait On<E>: Sized {
            fn on(self, event: E, cx: &mut $cx<'_>) -> Step<Self, E>;
        }

        /// What every state does with event `E`: the `always` rows.
        pub(crate) trait Always<E> {
            type To: Into<State>;
            fn always(self, event: E, cx: &mut $cx<'_>) -> Self::To;
        }

        /// A finished move out of `S` on `E`; can only be built along an edge.
        pub(crate) struct Step<S, E>(State, core::marker::PhantomData<(S, E)>);
        impl<S, E> Step<S, E> {
            #[inline(always)]
            pub(crate) fn to<T: Into<State>>(next: T) -> Self
            where
                S: crate::machine::Edge<E, T>,
            {
                Step(next.into(), core::marker::PhantomData)
            }
        }

        impl State {
            /// The table as text.
            pub(crate) const DESCRIPTION: crate::machine::Description = crate::machine::Description {
                starts: &[$(stringify!($start)),+],
                states: &[$((stringify!($state), concat!($($sdoc),*))),+],
                events: &[$((stringify!($event), concat!($($edoc),*))),+],
                moves: &[
                    $($((stringify!($from), stringify!($on), stringify!($to)),)+)+
                    $(("*", stringify!($any), stringify!($any_to)),)*
                ],
                ignored: &[$($((stringify!($ig), stringify!($ig_ev)),)+)*],
                never: &[$($((stringify!($nv), stringify!($nv_ev)),)+)*],
            };

            /// Which state it is.
            #[inline]
            pub(crate) fn tag(&self) -> StateTag {
                match self { $(State::$state(_) => StateTag::$state),+ }
            }

            /// Runs the row for this state and `event`. While a handler runs, and for good when it does
            /// not come back, `meanwhile` stands in for the state. A `never` pair leaves the
            /// state as it is and says so in the context.
            ///
            /// Dispatch looks at the tags only: the payloads are taken where a row wants them, and the
            /// compiler turns that into moves of those fields that differ.
            #[deny(unreachable_patterns)]
            #[inline(never)]
            pub(crate) fn step(&mut self, event: Event, meanwhile: State, cx: &mut $cx<'_>) {
                match (self.tag(), event.tag()) {
                    $((StateTag::$from, EventTag::$on) => {
                        let Event::$on(e) = event else { unreachable!() };
                        let State::$from(s) = core::mem::replace(self, meanwhile) else { unreachable!() };
                        self.fill(On::<$on>::on(s, e, cx).0);
                    })+
                    $((_, EventTag::$any) => {
                        let Event::$any(e) = event else { unreachable!() };
                        let s = core::mem::replace(self, meanwhile);
                        self.fill(Always::<$any>::always(s, e, cx).into());
                    })*
                    $($((StateTag::$ig, EventTag::$ig_ev) => {})+)*
                    $($((StateTag::$nv, EventTag::$nv_ev) => cx.impossible = true,)+)*
                }
            }

            /// Puts the next state where its stand-in is, which owns nothing that had to be dropped.
            #[inline(always)]
            fn fill(&mut self, next: State) {
                core::mem::forget(core::mem::replace(self, next));
            }
        }

        impl StateTag {
            /// The name of the state, as in the table.
            pub(crate) fn name(self) -> &'static str {
                match self { $(StateTag::$state => stringify!($state)),+ }
            }
        }

        impl EventTag {
            /// The name of the event, as in the table.
            pub(crate) fn name(self) -> &'static str {
                match self { $(EventTag::$event => stringify!($event)),+ }
            }
        }

        impl Event {
            /// Which event it is.
            #[inline]
            pub(crate) fn tag(&self) -> EventTag {
                match self { $(Event::$event(_) => EventTag::$event),+ }
            }
        }
    };
}
pub(crate) use machine;
