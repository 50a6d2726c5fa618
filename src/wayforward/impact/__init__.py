"""What happens when everybody follows the advice: segregation, audits, society over time, advice that lasts."""
