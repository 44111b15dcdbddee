"use client";

import { type PublicKeyCredentialCreationOptionsJSON, startRegistration } from "@simplewebauthn/browser";
import { type FormEvent, useState } from "react";
import { Field } from "../components/field";
import { Notice } from "../components/notice";
import { passkeyMessage } from "./passkey-message";
import { postJson } from "./post-json";

/** Creates a passkey and adds it to the account. */
export function AddPasskey() {
  const [isBusy, setBusy] = useState(false);
  const [message, setMessage] = useState("");

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (isBusy) return;
    const name = String(new FormData(event.currentTarget).get("name")).trim();
    setBusy(true);
    setMessage("");
    try {
      const optionsJSON = await postJson<PublicKeyCredentialCreationOptionsJSON>("/api/auth/passkeys/options", {});
      const passkey = await startRegistration({ optionsJSON });
      await postJson("/api/auth/passkeys", { passkey, ...(name ? { name } : {}) });
      window.location.assign("/account?done=passkey_added");
    } catch (error) {
      setMessage(passkeyMessage(error));
      setBusy(false);
    }
  };

  return (
    <form onSubmit={submit} aria-busy={isBusy}>
      {message && <Notice kind="error">{message}</Notice>}
      <Field
        name="name"
        label="Name (optional)"
        hint="Such as the device that stores the passkey."
        autoComplete="off"
        maxLength={64}
      />
      <button type="submit">Create passkey</button>
      <noscript>
        <p>Your browser needs JavaScript to create a passkey.</p>
      </noscript>
    </form>
  );
}
