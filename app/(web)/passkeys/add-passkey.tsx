"use client";

import { type PublicKeyCredentialCreationOptionsJSON, startRegistration } from "@simplewebauthn/browser";
import { type FormEvent, useEffect, useState } from "react";
import { Field } from "../components/field";
import { Notice } from "../components/notice";
import { useSite, useTexts } from "../language/site-context";
import { defineTexts } from "../language/texts";
import { passkeyMessage } from "./passkey-message";
import { postJson } from "./post-json";

const TEXTS = defineTexts({
  en: {
    name: "Name (optional)",
    hint: "For example, the device it is stored on.",
    create: "Create passkey",
    needsScript: "Your browser needs JavaScript to create a passkey.",
  },
  de: {
    name: "Name (freiwillig)",
    hint: "Zum Beispiel das Gerät, das den Passkey aufbewahrt.",
    create: "Passkey erstellen",
    needsScript: "Ihr Browser braucht JavaScript, um einen Passkey zu erstellen.",
  },
});

/** Creates a passkey and adds it to the account. */
export function AddPasskey() {
  // Until the script runs, the browser would send the form itself, which adds no passkey.
  const [isReady, setReady] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [message, setMessage] = useState("");
  const texts = useTexts(TEXTS);
  const { locale } = useSite();
  useEffect(() => setReady(true), []);

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
      setMessage(passkeyMessage(error, locale));
      setBusy(false);
    }
  };

  return (
    <form onSubmit={submit} aria-busy={isBusy}>
      {message && <Notice kind="error">{message}</Notice>}
      <Field name="name" label={texts.name} hint={texts.hint} autoComplete="off" maxLength={64} />
      <button type="submit" disabled={!isReady}>
        {texts.create}
      </button>
      <noscript>
        <p>{texts.needsScript}</p>
      </noscript>
    </form>
  );
}
