"use client";

import { useSite, useTexts } from "../language/site-context";
import { defineTexts } from "../language/texts";

const TEXTS = defineTexts({ en: "Do you need help?", de: "Brauchen Sie Hilfe?" });

/** Where customers get help; nothing if it is not configured. */
export function SupportLink() {
  const { support } = useSite();
  const question = useTexts(TEXTS);
  if (!support) return null;
  return (
    <p>
      {question} <a href={support.href}>{support.label}</a>
    </p>
  );
}
