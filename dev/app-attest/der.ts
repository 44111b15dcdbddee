/** Encodes a DER value: ITU-T X.690, section 10. */
export function der(tag: number, ...content: (Uint8Array | string)[]): Buffer {
  const body = Buffer.concat(content.map((part) => Buffer.from(part as Uint8Array)));
  if (body.length < 0x80) return Buffer.concat([Buffer.of(tag, body.length), body]);
  const length = Buffer.from(body.length.toString(16).padStart(4, "0"), "hex");
  const lengthBytes = length[0] === 0 ? length.subarray(1) : length;
  return Buffer.concat([Buffer.of(tag, 0x80 + lengthBytes.length), lengthBytes, body]);
}

export const sequence = (...content: (Uint8Array | string)[]) => der(0x30, ...content);
export const octets = (content: Uint8Array) => der(0x04, content);

export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return der(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(septets)]));
}

function septets(arc: number): number[] {
  const last = arc & 0x7f;
  return arc < 0x80 ? [last] : [...septets(arc >> 7).map((septet) => septet | 0x80), last];
}
