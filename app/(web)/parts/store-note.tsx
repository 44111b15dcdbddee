/** Deleting an account here stops no store from charging. */
export function StoreNote() {
  return (
    <p>
      A subscription bought in a store goes on until it is cancelled there: in the{" "}
      <a href="https://apps.apple.com/account/subscriptions">App Store</a> or on{" "}
      <a href="https://play.google.com/store/account/subscriptions">Google Play</a>. We cannot cancel it for you.
    </p>
  );
}
