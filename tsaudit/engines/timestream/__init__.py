"""Amazon Timestream for LiveAnalytics."""
