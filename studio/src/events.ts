// What happens to packets, as the engine tells it: six numbers each (crates/studio/src/packets.rs).

export const SIZE = 6;
export const Kind = { Sent: 0, Dropped: 1, Marked: 2, Segment: 3, Ack: 4, Lost: 5, RecoveryEntered: 6, RecoveryLeft: 7, TimedOut: 8,
  Sacked: 9 } as const;

export interface PacketEvent { time_s: number; kind: number; place: number; a: number; b: number; c: number }

export function* each(numbers: Float64Array): Generator<PacketEvent> {
  for (let at = 0; at + SIZE <= numbers.length; at += SIZE) {
    yield { time_s: numbers[at]!, kind: numbers[at + 1]!, place: numbers[at + 2]!, a: numbers[at + 3]!, b: numbers[at + 4]!, c: numbers[at + 5]! };
  }
}
