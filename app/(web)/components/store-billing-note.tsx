import { textsOf } from "../language/page-language";
import { defineTexts } from "../language/texts";

const APP_STORE = <a href="https://apps.apple.com/account/subscriptions">App Store</a>;
const GOOGLE_PLAY = <a href="https://play.google.com/store/account/subscriptions">Google Play</a>;

const TEXTS = defineTexts({
  en: (
    <>
      Store subscriptions continue until you cancel them in the {APP_STORE} or on {GOOGLE_PLAY}. We cannot cancel them
      for you.
    </>
  ),
  de: (
    <>
      Abonnements aus einem Store laufen weiter, bis Sie sie im {APP_STORE} oder bei {GOOGLE_PLAY} kündigen. Wir können
      das nicht für Sie tun.
    </>
  ),
});

/** Deleting an account does not cancel subscriptions that a store bills. */
export async function StoreBillingNote() {
  return <p>{await textsOf(TEXTS)}</p>;
}
