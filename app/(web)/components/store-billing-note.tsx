/** Deleting an account does not cancel subscriptions that a store bills. */
export function StoreBillingNote() {
  return (
    <p>
      Store subscriptions continue until you cancel them in the{" "}
      <a href="https://apps.apple.com/account/subscriptions">App Store</a> or on{" "}
      <a href="https://play.google.com/store/account/subscriptions">Google Play</a>. We cannot cancel them for you.
    </p>
  );
}
