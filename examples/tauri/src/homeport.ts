import { beginSignIn, completeSignIn, createClient } from "@homeport/client";
import { invoke } from "@tauri-apps/api/core";
import { onOpenUrl } from "@tauri-apps/plugin-deep-link";
import { fetch } from "@tauri-apps/plugin-http";
import { openUrl } from "@tauri-apps/plugin-opener";

const REDIRECT_URI = "com.example.acme:/callback";

/** The token is in the system's keychain, by two commands of src-tauri/src/main.rs. Requests are Rust's, so CORS does not apply. */
export const homeport = createClient({
  url: "http://localhost:3000",
  clientId: "desktop",
  fetch,
  session: {
    load: () => invoke<string | null>("load_session"),
    save: (token) => invoke<void>("save_session", { token }),
  },
});

/** Opens the system's browser, which returns to the app through its scheme. */
export async function signIn(): Promise<void> {
  const pending = await beginSignIn(homeport, REDIRECT_URI);
  let returned = (_url: string) => {};
  const callback = new Promise<string>((resolve) => {
    returned = resolve;
  });
  const stopListening = await onOpenUrl((urls) => {
    const url = urls.find((one) => one.startsWith(`${REDIRECT_URI}?`));
    if (url) returned(url);
  });
  try {
    await openUrl(pending.url);
    await completeSignIn(homeport, pending, await callback);
  } finally {
    stopListening();
  }
}
