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

/// Where a state lies between events. A step takes it out and puts the next one back; a handler
/// that does not come back leaves there what [`Place::take`] has left.
pub(crate) trait Place<S> {
    fn state(&self) -> &S;
    fn take(&mut self) -> S;
    fn put(&mut self, next: S);
}

/// What [`Place::state`] has shown is what [`Place::take`] takes.
#[cold]
pub(crate) fn stray<T>(_: T) -> ! {
    unreachable!("another state or event than was looked at")
}

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

impl Description {
    /// The name of the state at that place of the list.
    pub(crate) fn state(&self, index: u8) -> &'static str {
        self.states
            .get(usize::from(index))
            .map_or("?", |state| state.0)
    }

    /// The name of the event at that place of the list.
    pub(crate) fn event(&self, index: u8) -> &'static str {
        self.events
            .get(usize::from(index))
            .map_or("?", |event| event.0)
    }
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

            /// The state's place in [`Self::DESCRIPTION`]'s list.
            #[inline]
            pub(crate) fn index(&self) -> u8 {
                #[repr(u8)]
                enum Index { $($state),+ }
                match self { $(State::$state(_) => Index::$state as u8),+ }
            }

            /// The name of the state, as in the table.
            pub(crate) fn name(&self) -> &'static str {
                Self::DESCRIPTION.state(self.index())
            }

            /// Runs the row for the state in `place` and `event`. A `never` pair leaves the state as
            /// it is and says so in the context. Returns the event's place in the table's list.
            ///
            /// What the two carry is looked at in the rows only, and a caller that has not looked at
            /// the event either hands it on where it lies. So the compiler moves no field that stays
            /// where it is, and none at all where nothing happens.
            #[deny(unreachable_patterns)]
            #[inline(always)]
            pub(crate) fn step_in(
                place: &mut impl crate::machine::Place<State>,
                event: Event,
                cx: &mut $cx<'_>,
            ) -> u8 {
                let on = event.index();
                match (place.state(), &event) {
                    $((State::$from(_), Event::$on(_)) => {
                        let s = match place.take() { State::$from(s) => s, s => crate::machine::stray(s) };
                        let e = match event { Event::$on(e) => e, e => crate::machine::stray(e) };
                        place.put(On::<$on>::on(s, e, cx).0);
                    })+
                    $((_, Event::$any(_)) => {
                        let e = match event { Event::$any(e) => e, e => crate::machine::stray(e) };
                        Self::end_in::<$any, $any_to>(place, e, cx);
                    })*
                    $($((State::$ig(_), Event::$ig_ev(_)) => {})+)*
                    $($((State::$nv(_), Event::$nv_ev(_)) => cx.impossible = true,)+)*
                }
                on
            }

            /// The `always` rows, which are rare.
            #[cold]
            #[inline(never)]
            fn end_in<E, T: Into<State>>(
                place: &mut impl crate::machine::Place<State>,
                event: E,
                cx: &mut $cx<'_>,
            )
            where
                State: Always<E, To = T>,
            {
                let s = place.take();
                place.put(Always::<E>::always(s, event, cx).into());
            }

            /// The same for a state that lies nowhere.
            #[allow(dead_code, reason = "slots step in place")]
            pub(crate) fn step(self, event: Event, cx: &mut $cx<'_>) -> State {
                struct Hand(Option<State>);
                impl crate::machine::Place<State> for Hand {
                    fn state(&self) -> &State { self.0.as_ref().expect("a state") }
                    fn take(&mut self) -> State { self.0.take().expect("a state") }
                    fn put(&mut self, next: State) { self.0 = Some(next); }
                }
                let mut hand = Hand(Some(self));
                Self::step_in(&mut hand, event, cx);
                hand.0.expect("a state")
            }
        }

        impl Event {
            /// The event's place in the table's list.
            #[inline]
            pub(crate) fn index(&self) -> u8 {
                #[repr(u8)]
                enum Index { $($event),+ }
                match self { $(Event::$event(_) => Index::$event as u8),+ }
            }

            /// The name of the event, as in the table.
            #[allow(dead_code, reason = "slots note the index")]
            pub(crate) fn name(&self) -> &'static str {
                State::DESCRIPTION.event(self.index())
            }
        }
    };
}
pub(crate) use machine;
