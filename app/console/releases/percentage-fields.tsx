"use client";

import { type ChangeEvent, useState } from "react";

/**
 * A slider and a number for the same percentage. Without JavaScript they are sent as they are: the number counts if it was
 * changed, else the slider.
 */
export function PercentageFields({ current }: { current: number }) {
  const [percentage, setPercentage] = useState(String(current));
  const onChange = ({ target }: ChangeEvent<HTMLInputElement>) => setPercentage(target.value);
  const shared = { min: 0, max: 100, value: percentage, onChange };
  return (
    <div className="percentage">
      <input type="hidden" name="shown" value={current} />
      <div className="field">
        <label htmlFor="slider">Rollout</label>
        <input {...shared} id="slider" name="slider" type="range" step="0.1" />
      </div>
      <div className="field">
        <label htmlFor="percentage">Percent</label>
        <input {...shared} id="percentage" name="percentage" type="number" step="0.1" inputMode="decimal" required />
      </div>
    </div>
  );
}
