import { defineTexts } from "../language/texts";

export const CONFIRM = defineTexts({
  en: {
    title: "Confirm that it’s you",
    required: "Adding a sign-in provider requires a recent sign-in. Nothing was changed.",
    intro: "You signed in a while ago. What you are about to do requires a recent sign-in.",
  },
  de: {
    title: "Bestätigen Sie, dass Sie es sind",
    required: "Um einen Anbieter hinzuzufügen, müssen Sie sich kürzlich angemeldet haben. Es hat sich nichts geändert.",
    intro: "Ihre Anmeldung liegt eine Weile zurück. Was Sie vorhaben, verlangt eine neue.",
  },
});
