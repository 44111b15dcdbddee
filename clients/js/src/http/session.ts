/** Where an app keeps the token of its session, such as the system's keychain. Both may be asynchronous. */
export type SessionStore = {
  load(): string | null | Promise<string | null>;
  /** Saves the token, or deletes it if it is null. */
  save(token: string | null): void | Promise<void>;
};

/** The session of a client that sends a bearer token. */
export type Session = {
  /** The token, read from the store once. */
  token(): Promise<string | null>;
  set(token: string | null): Promise<void>;
  /** Forgets a token that the service has refused, unless another one has replaced it in the meantime. */
  end(token: string): Promise<void>;
};

/** A store that lasts as long as the process. */
export function memoryStore(token: string | null = null): SessionStore {
  let stored = token;
  return {
    load: () => stored,
    save: (next) => {
      stored = next;
    },
  };
}

/** The session in a store. `onEnd` is called when the service has ended it. */
export function openSession(store: SessionStore, onEnd: () => void): Session {
  let current: string | null | undefined;
  let loading: Promise<void> | undefined;

  async function load(): Promise<void> {
    try {
      const stored = await store.load();
      if (current === undefined) current = stored;
    } finally {
      loading = undefined; // the next request asks a keychain again that was locked
    }
  }

  async function token(): Promise<string | null> {
    if (current === undefined) {
      loading ??= load();
      await loading;
    }
    return current ?? null;
  }

  async function set(next: string | null): Promise<void> {
    current = next;
    await store.save(next);
  }

  async function end(refused: string): Promise<void> {
    if (current !== refused) return;
    await set(null);
    onEnd();
  }

  return { token, set, end };
}
