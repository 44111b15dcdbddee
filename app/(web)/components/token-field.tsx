"use client";

import { use, useEffect, useState } from "react";
import { useTexts } from "../language/site-context";
import { defineTexts } from "../language/texts";
import { Field } from "./field";
import { FormContext } from "./form";

const TEXTS = defineTexts({
  en: { label: "Link from the email", hint: "Paste the complete link from the email." },
  de: { label: "Link aus der E-Mail", hint: "Fügen Sie den ganzen Link aus der E-Mail ein." },
});

/** `label` and `hint`, if it is another link than an emailed one. `opened`: the token of a link that was opened before. */
type Props = { label?: string; hint?: string; opened?: string | undefined };

/**
 * The token of a link, such as an emailed one. It is in the URL's fragment, which is not sent to the server; this reads it and
 * removes it from the browser's history. Without JavaScript, or if the token is invalid, the user pastes the link.
 */
export function TokenField({ opened, ...given }: Props) {
  const [token, setToken] = useState(opened);
  const { fields } = use(FormContext);
  const { label, hint } = { ...useTexts(TEXTS), ...given };
  useEffect(() => {
    const linked = new URLSearchParams(window.location.hash.slice(1)).get("token");
    if (!linked) return;
    setToken(linked);
    window.history.replaceState(null, "", window.location.pathname + window.location.search);
  }, []);
  if (token && fields.token) setToken(undefined);
  if (token) return <input type="hidden" name="token" value={token} />;
  return <Field name="token" label={label} hint={hint} required autoComplete="off" spellCheck={false} />;
}

const CODE_TEXTS = defineTexts({
  en: { label: "Code", hint: "From your authenticator app, a recovery code, or the code that you were given." },
  de: {
    label: "Code",
    hint: "Aus Ihrer Authenticator-App, ein Wiederherstellungscode oder der Code, den Sie bekommen haben.",
  },
});

/** The code that an emailed link needs with AUTH_LINKS_NEED_CODE. */
export function LinkCodeField() {
  const { label, hint } = useTexts(CODE_TEXTS);
  return <Field name="code" label={label} hint={hint} required autoComplete="one-time-code" spellCheck={false} />;
}
