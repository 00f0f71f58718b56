"""What a load sends, when, and who should receive it: arrivals, steps, destinations, properties and selectors."""
