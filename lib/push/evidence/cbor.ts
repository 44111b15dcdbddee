import { type DecodeOptions, decode, Tokenizer } from "cborg";
import type { z } from "zod";
import { evidenceInvalid } from "./errors";

/** An attestation has 13 data items, an assertion 5. */
const MAX_ITEMS = 32;

const STRICT: DecodeOptions = {
  strict: true,
  allowIndefinite: false,
  allowUndefined: false,
  allowInfinity: false,
  allowNaN: false,
  allowBigInt: false,
  rejectDuplicateMapKeys: true,
};

/** Rejects input with many items, which would exhaust the stack or take long to decode. */
class BoundedTokenizer extends Tokenizer {
  #items = 0;

  override next() {
    this.#items += 1;
    if (this.#items > MAX_ITEMS) throw new RangeError("too many items");
    return super.next();
  }
}

/**
 * Decodes one CBOR item (RFC 8949) and validates it by a schema. Ignores fields that the schema does not have.
 * @throws AppError evidence_invalid: malformed
 */
export function decodeCbor<T>(schema: z.ZodType<T>, bytes: Uint8Array): T {
  try {
    return schema.parse(decode(bytes, { ...STRICT, tokenizer: new BoundedTokenizer(bytes, STRICT) }));
  } catch {
    throw evidenceInvalid("malformed");
  }
}
