"use client";

import {
  browserSupportsWebAuthn,
  type PublicKeyCredentialCreationOptionsJSON,
  startRegistration,
} from "@simplewebauthn/browser";
import { useEffect, useState } from "react";
import { Notice } from "../components/notice";
import { sendForm } from "../components/send-form";
import { translateError } from "../language/german-errors";
import { useSite, useTexts } from "../language/site-context";
import { defineTexts } from "../language/texts";
import { passkeyMessage } from "../passkeys/passkey-message";
import { postJson } from "../passkeys/post-json";

const TEXTS = defineTexts({
  en: { or: "or", create: "Create a passkey" },
  de: { or: "oder", create: "Passkey erstellen" },
});

/** The button of the invitation's form that creates a passkey in place of the password. */
export function AcceptWithPasskey() {
  const [isSupported, setSupported] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [message, setMessage] = useState("");
  const texts = useTexts(TEXTS);
  const { locale } = useSite();
  useEffect(() => setSupported(browserSupportsWebAuthn()), []);

  const accept = async (form: HTMLFormElement) => {
    const link = form.elements.namedItem("token") as HTMLInputElement;
    if (isBusy || !link.reportValidity()) return;
    setBusy(true);
    setMessage("");
    try {
      const token = link.value.trim().split("#token=").at(-1);
      const path = "/api/auth/passkeys/invitation/options";
      const optionsJSON = await postJson<PublicKeyCredentialCreationOptionsJSON>(path, { token });
      const data = new FormData(form);
      data.delete("password");
      data.set("passkey", JSON.stringify(await startRegistration({ optionsJSON })));
      const result = await sendForm(form.action, data);
      if ("location" in result) return window.location.assign(result.location);
      setMessage(translateError(result.message, locale));
    } catch (error) {
      setMessage(passkeyMessage(error, locale));
    }
    setBusy(false);
  };

  if (!isSupported) return null;
  return (
    <>
      <p className="separator">{texts.or}</p>
      {message && <Notice kind="error">{message}</Notice>}
      <button
        type="button"
        className="quiet"
        aria-busy={isBusy}
        onClick={({ currentTarget: { form } }) => form && accept(form)}
      >
        {texts.create}
      </button>
    </>
  );
}
