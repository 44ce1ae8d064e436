//! Answers to Lua. What they point to stays as it is until Lua calls again: the engine's own
//! buffers where an exchange lives on, and a finished exchange's, which are kept here.

use ngx_http_ffi_client::{Finished, Head, Section};

use crate::abi::{Field, Reply, Text};

/// Up to so many lines, comparing each with each is cheaper than sorting.
const FEW: usize = 48;

/// The memory behind the last answer.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    fields: Vec<Field>,
    trailers: Vec<Field>,
    finished: Option<Finished>,
}

impl Answer {
    /// Answers with a whole response and keeps it until the next one. Gives back the one before.
    pub(crate) fn whole(&mut self, finished: Finished, reply: &mut Reply) -> Option<Finished> {
        let spent = self.finished.replace(finished);
        if let Some(Finished {
            head,
            body,
            trailers,
        }) = &self.finished
        {
            fill_head(&mut self.fields, head, reply);
            reply.body = Text::of(body);
            (reply.trailers, reply.ntrailers) = lines(trailers, &mut self.trailers);
        }
        spent
    }

    /// Answers with the head of a response that lives on.
    pub(crate) fn head(&mut self, head: &Head, reply: &mut Reply) {
        fill_head(&mut self.fields, head, reply);
    }

    /// Answers with the trailers of a response that lives on.
    pub(crate) fn trailers(&mut self, section: &Section, reply: &mut Reply) {
        (reply.trailers, reply.ntrailers) = lines(section, &mut self.trailers);
    }
}

fn fill_head(list: &mut Vec<Field>, head: &Head, reply: &mut Reply) {
    (reply.fields, reply.nfields) = lines(&head.fields, list);
    reply.status = i32::from(head.status);
    reply.minor = i32::from(head.minor);
    reply.reason = Text::of(head.reason());
}

/// Lists the lines of a section, each with the place of the first line of its name.
fn lines(section: &Section, list: &mut Vec<Field>) -> (*const Field, u32) {
    list.clear();
    list.reserve(section.len());
    let few = section.len() <= FEW;
    for (i, (name, value)) in section.iter().enumerate() {
        let shape = shape(name);
        let first = if few {
            first_of(section, list, shape, name)
        } else {
            i
        };
        list.push(Field {
            name: Text::of(name),
            value: Text::of(value),
            first: first as u32,
            pad: shape,
        });
    }
    if !few {
        match_many(section, list);
    }
    (list.as_ptr(), list.len() as u32)
}

/// Names that are equal in any case have equal shapes; most others do not.
fn shape(name: &[u8]) -> u32 {
    match name {
        [first, .., last] => {
            (name.len() as u32) << 16 | u32::from(first | 0x20) << 8 | u32::from(last | 0x20)
        }
        [only] => u32::from(only | 0x20),
        [] => 0,
    }
}

/// The place of the first line called `name` among those before, or of the line itself.
fn first_of(section: &Section, before: &[Field], shape: u32, name: &[u8]) -> usize {
    let alike = before.iter().enumerate().filter(|(_, f)| f.pad == shape);
    let is_named = |at: &usize| {
        let line = section.iter().nth(*at);
        line.is_some_and(|(other, _)| other.eq_ignore_ascii_case(name))
    };
    alike
        .map(|(at, _)| at)
        .find(is_named)
        .unwrap_or(before.len())
}

fn match_many(section: &Section, list: &mut [Field]) {
    let names: Vec<&[u8]> = section.iter().map(|(name, _)| name).collect();
    let folded = |i: usize| names[i].iter().map(u8::to_ascii_lowercase);
    let mut sorted: Vec<usize> = (0..names.len()).collect();
    // A stable sort: the first line of a name stays in front.
    sorted.sort_by(|&a, &b| folded(a).cmp(folded(b)));
    let mut first = 0;
    for (at, &i) in sorted.iter().enumerate() {
        if at == 0 || !names[sorted[at - 1]].eq_ignore_ascii_case(names[i]) {
            first = i;
        }
        list[i].first = first as u32;
    }
}
