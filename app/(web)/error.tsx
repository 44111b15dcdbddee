"use client";

import { SupportLink } from "./components/support-link";
import { useTexts } from "./language/site-context";
import { defineTexts } from "./language/texts";

const TEXTS = defineTexts({
  en: {
    title: "Something went wrong",
    lead: "This is a problem on our side. Try again in a moment.",
    again: "Try again",
    home: "Go to the home page",
  },
  de: {
    title: "Etwas ist schiefgegangen",
    lead: "Das ist ein Problem bei uns. Versuchen Sie es gleich noch einmal.",
    again: "Noch einmal versuchen",
    home: "Zur Startseite",
  },
});

/** Shown when rendering a page fails. The error itself is logged. */
export default function PageError() {
  const { title, lead, again, home } = useTexts(TEXTS);
  return (
    <>
      <h1>{title}</h1>
      <p className="lead">{lead}</p>
      <p>
        <button type="button" onClick={() => window.location.reload()}>
          {again}
        </button>
      </p>
      <SupportLink />
      <p>
        <a href="/">{home}</a>
      </p>
    </>
  );
}
