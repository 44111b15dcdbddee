import { PublicKeys } from "../../releases/signatures";
import { type EditableManifest, PublishingError } from "./manifest-file";
import { ConfirmationRequiredError, type Confirmations } from "./publish-checks";

/** Public keys as somebody gave them: in any form that `PublicKeys` takes. */
export type PublicKeyInput = { minisign?: string | undefined; ed?: string | undefined };

const NAMES = { minisign: "minisign", ed: "EdDSA" } as const;

/** One product's. A product may be called `constructor`. */
export function publicKeysOf(publicKeys: EditableManifest["publicKeys"], product: string): PublicKeys {
  return (Object.hasOwn(publicKeys, product) && publicKeys[product]) || {};
}

/**
 * A catalog's public keys with those that were given for one product.
 * @throws PublishingError for what is no key; UnconfirmedError for another key than the product has.
 */
export function mergePublicKeys(
  { publicKeys }: Pick<EditableManifest, "publicKeys">,
  product: string,
  given: PublicKeyInput,
  { isNew }: Confirmations,
): EditableManifest["publicKeys"] {
  const parsed = PublicKeys.safeParse(given);
  if (!parsed.success) throw new PublishingError(parsed.error.issues.map(({ message }) => message).join("; "));
  const next = { ...publicKeysOf(publicKeys, product) };
  for (const kind of ["minisign", "ed"] as const) {
    const [key, before] = [parsed.data[kind], next[kind]];
    if (key === undefined || key === before) continue;
    if (before !== undefined && !isNew) {
      throw new ConfirmationRequiredError(
        `${product}'s ${NAMES[kind]} key is ${before}: installed apps would refuse what another one signed. Say --new if it is a new key.`,
      );
    }
    next[kind] = key;
  }
  return Object.keys(next).length === 0 ? publicKeys : { ...publicKeys, [product]: next };
}
