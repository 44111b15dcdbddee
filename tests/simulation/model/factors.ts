import type { PasskeyAuthenticator } from "../../support/auth/passkey-authenticator";
import { type Owner, Usable } from "./fact";

export class AuthenticatorApp {
  /** The newest time step of which a code was used, and of which one may have been. */
  used = 0;
  mayBeUsed = 0;
  /** When it was confirmed, at the earliest. */
  sinceMs = 0;

  constructor(readonly secret: string) {}
}

export class RecoveryCode extends Usable {
  constructor(
    owner: Owner,
    readonly text: string,
  ) {
    super("recovery code", owner.name);
  }
}

/** A passkey, or a person at a sign-in provider. `key` is what proves it. */
class Credential<Key> extends Usable {
  id: string | null = null;

  constructor(
    kind: string,
    owner: Owner,
    readonly key: Key,
  ) {
    super(kind, owner.name, false);
  }
}

export class Passkey extends Credential<PasskeyAuthenticator> {
  /** The counter of the newest assertion that was accepted; 0: it has none. */
  counter = 0;
}
export class Identity extends Credential<string> {}
